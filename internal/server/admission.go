package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// admission decides whether a search may begin and rejects the others at once: otherwise
// an overloaded server spends its time on answers that are too late.
//
// It counts the searches that run or wait for a processor, and estimates the processor
// time of a search. By Little's law, the time that a search spends here is their number
// times that estimate, divided by the number of processors. A search is rejected if this
// time exceeds half of its time limit (some searches take longer than the mean), or
// Options.MaxWait. A search that finds few others is never rejected, so a wrong estimate
// corrects itself.
//
// When requests come faster than they are read, they wait in sockets, where nothing counts
// them. The time that a request has waited there counts, and is enough to reject it if
// several before it were as late. So the first requests after a pause of the process are
// answered.
//
// The scheduler of the index rejects searches by individual predictions, which do not
// include the time to read documents, make snippets and write answers; admission does.
//
// Requests for documents and multi-searches have their own admissions: no kind can exhaust
// the share of another, and the time of a multi-search, which can be a thousand times that
// of a search, is no sample for searches. Each assumes that it has all processors; the load
// of the other kinds shows in the measured times. The comments speak of searches and hold
// for all.
type admission struct {
	what       string // name of the requests, in the plural
	limit      int    // searches at the same time
	perClient  int    // searches of one client; 0: no limit
	maxWait    time.Duration
	processors float64

	mu      sync.Mutex
	running int
	late    int                // requests in a row that had waited for too long when they were read
	clients map[netip.Addr]int // with searches, if perClient
	cost    float64            // of a search, in seconds of a processor; 0: not known
}

const (
	// Searches per processor that are never rejected for lack of time.
	admissionFew = 2
	// Part of its time limit that a search may be estimated to take.
	admissionShare = 0.5
	// Weight of the last search in the estimate.
	admissionWeight = 1.0 / 16
)

// newAdmission: what names the requests; o has its defaults filled in.
func newAdmission(what string, o *Options) *admission {
	return &admission{
		what: what, limit: o.MaxConcurrent, perClient: o.PerClient, maxWait: o.MaxWait, processors: float64(o.Processors), clients: map[netip.Addr]int{},
	}
}

// ticket is an admitted search; its owner must call leave.
type ticket struct {
	client netip.Addr
	began  time.Time
	others int // searches at its arrival, including itself
}

// enter admits a search with a time limit of budget that has waited until now to be read, or returns the reason for rejecting it.
func (a *admission) enter(client netip.Addr, budget, waited time.Duration) (ticket, *apiError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.perClient > 0 && a.clients[client] >= a.perClient {
		return ticket{}, &apiError{
			Status: http.StatusTooManyRequests, Code: "too_many", retryAfter: a.spent(a.perClient),
			Message: fmt.Sprintf("%d %s of this client are already running; wait for one of them", a.perClient, a.what),
		}
	}
	if a.running >= a.limit {
		return ticket{}, &apiError{
			Status: http.StatusServiceUnavailable, Code: "overloaded", retryAfter: a.spent(a.running) / 2,
			Message: fmt.Sprintf("%d %s are already running; try again in a moment", a.limit, a.what),
		}
	}
	within := time.Duration(admissionShare * float64(budget))
	allowed := min(within, a.maxWait)
	if waited > allowed {
		a.late++
	} else {
		a.late = 0
	}
	few := admissionFew * a.processors
	if spent := waited + a.spent(a.running+1); spent > allowed && (float64(a.running) >= few || float64(a.late) > few) {
		message := fmt.Sprintf("the server is too busy to answer within %v; try again in a moment", budget)
		switch {
		case waited > allowed:
			message = fmt.Sprintf("the server is too busy: it read the request %v after it came; try again in a moment", waited.Round(time.Millisecond))
		case allowed < within:
			message = fmt.Sprintf("the server is too busy: the %s before this one take more than %v; try again in a moment", a.what, allowed)
		}
		return ticket{}, &apiError{Status: http.StatusServiceUnavailable, Code: "overloaded", retryAfter: spent - allowed, Message: message}
	}
	a.running++
	if a.perClient > 0 {
		a.clients[client]++
	}
	return ticket{client: client, began: time.Now(), others: a.running}, nil
}

// spent estimates the time of a search among n. The caller holds a.mu.
func (a *admission) spent(n int) time.Duration {
	return time.Duration(float64(n) * a.cost / a.processors * float64(time.Second))
}

// leave ends a search. The time of an answered search is a sample for the estimate; of
// an unanswered search only if it exceeds the estimate, as a lower bound. A search that
// was shed is no sample.
func (a *admission) leave(t ticket, answered, shed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	others := float64(t.others+a.running) / 2
	a.running--
	if a.perClient > 0 {
		if a.clients[t.client]--; a.clients[t.client] == 0 {
			delete(a.clients, t.client)
		}
	}
	cost := time.Since(t.began).Seconds() * min(1, a.processors/others)
	if shed || !answered && cost < a.cost {
		return
	}
	if a.cost == 0 {
		a.cost = cost
	}
	a.cost += admissionWeight * (cost - a.cost)
}

// clientOf returns a client's address, for IPv6 the network of 64 bits, because one client
// can use all addresses in it. Unknown addresses share the zero Addr.
func clientOf(r *http.Request) netip.Addr { return clientAt(r.RemoteAddr) }

// clientAt takes an address with a port.
func clientAt(address string) netip.Addr {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		const network = 64
		prefix, _ := addr.Prefix(network) // cannot fail: the address has more bits
		return prefix.Addr()
	}
	return addr
}
