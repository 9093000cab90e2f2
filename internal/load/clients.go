package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// clients are goroutines that send requests. They are kept from request to request: a new one
// has a small stack, and to make it larger takes longer than many queries. Only the generator sends; no client waits
// for another.
type clients struct {
	idle *client                // of the generator: a stack, linked by below
	done atomic.Pointer[client] // the same, of clients that have come back since; ended: none may come back
	busy sync.WaitGroup         // requests
}

type client struct {
	next  chan request
	below *client
}

// ended marks the end of clients.
var ended = new(client)

// send has an idle client, or else a new one, send a request of a run.
func (c *clients) send(r *run, q request) {
	c.busy.Add(1)
	if c.idle == nil {
		c.idle = c.done.Swap(nil)
	}
	one := c.idle
	if one == nil {
		one = &client{next: make(chan request, 1)}
		go one.work(c, r, q)
		return
	}
	c.idle = one.below
	one.next <- q
}

func (one *client) work(c *clients, r *run, q request) {
	for more := true; more; q, more = <-one.next {
		r.do(&q)
		c.busy.Done()
		if !c.put(one) {
			return
		}
	}
}

// put reports whether there may be another request.
func (c *clients) put(one *client) bool {
	for {
		below := c.done.Load()
		if below == ended {
			return false
		}
		one.below = below
		if c.done.CompareAndSwap(below, one) {
			return true
		}
	}
}

// end waits for all requests and lets all clients end. The generator calls it last.
func (c *clients) end() {
	c.busy.Wait()
	for _, one := range []*client{c.idle, c.done.Swap(ended)} {
		for one != nil {
			below := one.below // the client may end now
			close(one.next)
			one = below
		}
	}
	c.idle = nil
}

// patience makes the contexts of requests. Requests that are sent within a small part of the time limit share one, which gives
// the first of them that part more: a context with a timer of its own takes longer than the rest of a request.
type patience struct {
	shared  context.Context //nolint:containedctx // of the next request
	until   time.Time       // of requests with shared
	cancels []context.CancelFunc
}

// sharedParts is the number of contexts in a time limit.
const sharedParts = 64

// context returns a context of a parent for the time limit of a request that is sent now. It is for one goroutine.
func (p *patience) context(parent context.Context, limit time.Duration) context.Context {
	if now := time.Now(); p.shared == nil || now.After(p.until) {
		part := limit / sharedParts
		ctx, cancel := context.WithDeadline(parent, now.Add(limit+part))
		if len(p.cancels) > sharedParts+1 { // the first has ended
			p.cancels[0]()
			p.cancels = append(p.cancels[:0], p.cancels[1:]...)
		}
		p.shared, p.until, p.cancels = ctx, now.Add(part), append(p.cancels, cancel)
	}
	return p.shared
}

// end releases the contexts, after the last request.
func (p *patience) end() {
	for _, cancel := range p.cancels {
		cancel()
	}
}
