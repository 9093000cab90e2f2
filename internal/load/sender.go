package load

import (
	"context"
	"runtime"
	"time"
)

// sender sends the requests of a run, or of a part of it, at their times. It is for one goroutine.
type sender interface {
	// until is false if the run ended before t.
	until(t time.Time) bool
	// send begins a request.
	send(q request)
	// end waits for the answers, unless the context of the run has ended. It is called once, last.
	end()
}

// callers send with Target.Do, each request on a goroutine.
type callers struct {
	r        *run
	interval time.Duration
	pace     *pacer // made by the goroutine of the sender
	clients  clients
	patient  patience
}

func (c *callers) until(t time.Time) bool {
	if c.pace == nil {
		c.pace = newPacer(c.r.Sleep, c.interval)
	}
	return c.pace.until(c.r.ctx, t)
}

func (c *callers) send(q request) {
	q.ctx = c.patient.context(c.r.ctx, c.r.Timeout)
	c.clients.send(c.r, q)
}

func (c *callers) end() {
	if c.pace != nil {
		c.pace.end()
	}
	c.clients.end()
	c.patient.end()
}

// streamer is a Target that has senders of its own, without a goroutine for each request.
type streamer interface {
	// senders returns up to n senders for the parts of a run, whose arrivals are interval apart in each; none: it
	// takes requests by Do only.
	senders(r *run, n int, interval time.Duration) []sender
}

const (
	// maxSenders is enough for some hundred thousand requests a second.
	maxSenders = 8
	// callersInterval is between the arrivals of a sender that needs no other beside it: a request takes it 2 µs.
	callersInterval = 10 * time.Microsecond
)

// senders returns the senders of the target, or else some with goroutines.
func (r *run) senders(interval time.Duration) []sender {
	const processors = 4 // for one sender, which takes about a fifth of the time of a server
	if s, ok := r.target.(streamer); ok && r.batches == nil && r.Sleep == nil {
		n := min(max(runtime.GOMAXPROCS(0)/processors, 1), maxSenders)
		if all := s.senders(r, n, time.Duration(n)*interval); len(all) > 0 {
			return all
		}
	}
	n := 1
	if r.Sleep == nil {
		n = max(min(int(callersInterval/max(interval, 1)), runtime.GOMAXPROCS(0)/processors, maxSenders), 1)
	}
	all := make([]sender, n)
	for i := range all {
		all[i] = &callers{r: r, interval: time.Duration(n) * interval}
	}
	return all
}

// ending is when a part of a run ended, and whether the run was cut short then.
type ending struct {
	at  time.Duration
	cut bool
}

// generate sends every parts-th arrival of the run, from number part on. It returns after the last answer.
func (r *run) generate(s sender, part, parts int, allowed float64) (e ending) {
	defer s.end()
	each, end := r.together(), r.Warmup+r.Duration
	arrivals := newClock(r.Arrivals, r.Rate/float64(each), r.Seed)
	for i, n := 0, 0; ; i, n = (i+each)%r.Queries, (n+1)%parts {
		at := arrivals.next()
		if at >= end {
			return ending{at: end}
		}
		if n != part {
			continue
		}
		if !s.until(r.began.Add(at)) {
			return ending{at: min(end, time.Since(r.began))}
		}
		if r.CutShort && float64(r.bad.Load()) > allowed {
			r.cancel()
			return ending{at: min(end, time.Since(r.began)), cut: true}
		}
		r.issue(s, i, at)
	}
}

// request is a query, or a batch from it on.
type request struct {
	ctx     context.Context //nolint:containedctx // of the request; of callers
	query   int
	at      time.Duration // the scheduled arrival
	counted bool
}
