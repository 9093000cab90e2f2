package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// admission decides whether a search may begin. What may not is refused at once, so
// that what is answered is answered in time however much is asked for: without that, a
// server that is asked for more than it can do spends its time on answers that come too
// late, and gives none.
//
// It knows how many searches are running, those included that wait for a processor, and
// estimates how long one of them takes of a processor. By Little's law the time that a
// search spends here is the number of searches here times that, over the number of
// processors. A search that would spend more than half of its time limit here is refused (half,
// since some take longer than the mean), and so is one that would spend more than
// Options.MaxWait. One that finds few others is never refused, so that a wrong estimate
// corrects itself.
//
// The queue of the index's scheduler, behind it, orders searches, and refuses those that
// cannot end in time by predictions for each. It does not see what this does: the time to
// read documents, make snippets and write answers.
//
// Requests for documents have an admission of their own, so that neither they nor searches
// fill up what the others may have. Both count on all processors: what the others take of
// them shows in the time that a request takes. What is said here of searches holds there of
// requests for documents.
type admission struct {
	what       string // is admitted, in the plural
	limit      int    // searches at the same time
	perClient  int    // searches of one client; 0: any number
	maxWait    time.Duration
	processors float64

	mu      sync.Mutex
	running int
	clients map[netip.Addr]int // with searches, if perClient
	cost    float64            // of a search, in seconds of a processor; 0: not known
}

const (
	// admissionFew searches for each processor are never refused for lack of time.
	admissionFew = 2
	// admissionShare of the time limit may be spent, by the estimate.
	admissionShare = 0.5
	// admissionWeight is that of the last search in the estimate.
	admissionWeight = 1.0 / 16
)

// newAdmission returns the admission of what is named, by options with their defaults.
func newAdmission(what string, o *Options) *admission {
	return &admission{
		what: what, limit: o.MaxConcurrent, perClient: o.PerClient, maxWait: o.MaxWait, processors: float64(o.Processors), clients: map[netip.Addr]int{},
	}
}

// ticket is a search that was admitted. leave must be called when it has ended.
type ticket struct {
	client netip.Addr
	began  time.Time
	others int // searches here when it came, itself included
}

// enter admits a search that has budget to be answered, or says why not.
func (a *admission) enter(client netip.Addr, budget time.Duration) (ticket, *apiError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.perClient > 0 && a.clients[client] >= a.perClient {
		return ticket{}, &apiError{
			Status: http.StatusTooManyRequests, Code: "too_many", retryAfter: a.spent(a.perClient),
			Message: fmt.Sprintf("%d %s of yours are running already; wait for one of them", a.perClient, a.what),
		}
	}
	if a.running >= a.limit {
		return ticket{}, &apiError{
			Status: http.StatusServiceUnavailable, Code: "overloaded", retryAfter: a.spent(a.running) / 2,
			Message: fmt.Sprintf("%d %s are running already; try again in a moment", a.limit, a.what),
		}
	}
	within := time.Duration(admissionShare * float64(budget))
	allowed := min(within, a.maxWait)
	if spent := a.spent(a.running + 1); float64(a.running) >= admissionFew*a.processors && spent > allowed {
		message := fmt.Sprintf("the server is too busy to answer within %v; try again in a moment", budget)
		if allowed < within {
			message = fmt.Sprintf("the server is too busy: it has %s for more than %v before this one; try again in a moment", a.what, allowed)
		}
		return ticket{}, &apiError{Status: http.StatusServiceUnavailable, Code: "overloaded", retryAfter: spent - allowed, Message: message}
	}
	a.running++
	if a.perClient > 0 {
		a.clients[client]++
	}
	return ticket{client: client, began: time.Now(), others: a.running}, nil
}

// spent estimates how long a search spends here among n. a.mu is held.
func (a *admission) spent(n int) time.Duration {
	return time.Duration(float64(n) * a.cost / a.processors * float64(time.Second))
}

// leave ends a search. How long it took is a sample of the estimate if it was answered. If
// it was not, it would have taken longer: that counts where it is more than the estimate. Of
// one that was shed, and so did not begin, nothing is learnt.
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

// clientOf returns what a client is told apart by: its address, of IPv6 the network of
// 64 bits, since one client has as many addresses in it as it likes. The zero Addr is
// one of all whose address is not known.
func clientOf(r *http.Request) netip.Addr { return clientAt(r.RemoteAddr) }

// clientAt is clientOf of an address with a port.
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
		prefix, _ := addr.Prefix(network) // it has more bits
		return prefix.Addr()
	}
	return addr
}
