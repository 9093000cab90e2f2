package turns

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Gate lets searches go before background work. Work that computes calls Pass between pieces of 50 to 200 µs, and
// waits there while a search runs.
//
// Neither starves the other. A search does not wait for the gate, only for the pieces that have begun. The gate is
// closed for at most half of the time, in the long run, and for at most maxCredit at a time: it saves the time
// for which it is open, up to maxCredit, and spends it while it is closed. A gate without
// savings stays open, and searches and work then share the processors as without it. Nor does it close before the first
// Pass since it opened: searches alone take no lock and no timer, whose end wakes a thread (3 to 5 µs of a query).
//
// It is safe for concurrent use; nil is always open.
type Gate struct {
	closed   atomic.Bool // it mirrors opened != nil, and is read without mu
	searches atomic.Int64
	working  atomic.Bool // work has passed since the gate last opened for nobody

	mu      sync.Mutex
	credit  time.Duration // for which the gate may be closed, as of changed
	changed time.Time     // when the gate was opened or closed, or the credit was counted
	opened  chan struct{} // closed when the gate opens; nil: it is open
	waiting int           // goroutines before the closed gate
	lingers *time.Timer   // opens it after the last search; nil before the first use
}

const (
	// maxCredit is longer than almost all searches take.
	maxCredit = 50 * time.Millisecond
	// minCredit is saved before the gate closes again, so that it does not do so for parts of a search only.
	minCredit = 5 * time.Millisecond
	// linger is how long the gate stays closed after the last search, for its answer to leave. Otherwise the
	// goroutines that go on take the processors first: measured, the way of an answer to a client on the same machine
	// took 3.4 instead of 0.3 ms (90th percentile).
	linger = 200 * time.Microsecond
)

// NewGate returns an open gate that may close at once.
func NewGate() *Gate { return &Gate{credit: maxCredit, changed: time.Now()} }

// Enter begins a search. It must be followed by Leave.
func (g *Gate) Enter() {
	if g == nil {
		return
	}
	g.searches.Add(1)
	if g.closed.Load() || !g.working.Load() {
		return // many searches at the same time take no lock
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.close(time.Now())
}

// close closes an open gate if there is enough credit. g.mu is held. The search may have left meanwhile.
func (g *Gate) close(now time.Time) {
	if g.opened != nil {
		return
	}
	g.credit = min(g.credit+now.Sub(g.changed), maxCredit)
	g.changed = now
	if g.credit >= minCredit {
		g.opened = make(chan struct{})
		g.closed.Store(true)
		g.openLater()
	}
}

// Leave ends a search, a little before its answer leaves.
func (g *Gate) Leave() {
	if g == nil || g.searches.Add(-1) > 0 || !g.closed.Load() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.openLater()
}

// openLater opens a closed gate after a while if no search runs. g.mu is held.
func (g *Gate) openLater() {
	switch {
	case g.searches.Load() > 0 || g.opened == nil:
	case g.lingers == nil:
		g.lingers = time.AfterFunc(linger, g.lingered)
	default:
		g.lingers.Reset(linger)
	}
}

// lingered opens the gate if no search has begun meanwhile.
func (g *Gate) lingered() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.searches.Load() > 0 || g.opened == nil {
		return
	}
	now := time.Now()
	g.open(now)
	g.working.Store(g.waiting > 0)
	if g.searches.Load() > 0 { // one that began just before, and saw a closed gate
		g.close(now)
	}
}

// open opens a closed gate. g.mu is held.
func (g *Gate) open(now time.Time) {
	g.credit = max(g.credit-now.Sub(g.changed), 0)
	g.changed = now
	close(g.opened)
	g.opened = nil
	g.closed.Store(false)
}

// Pass waits while a search runs and the gate has savings. It takes a few ns if none runs. The caller
// must not hold a resource that a search needs.
func (g *Gate) Pass() {
	if g != nil && g.isClosed() {
		g.wait(nil)
	}
}

// PassContext is Pass, but returns the error of ctx when ctx ends.
func (g *Gate) PassContext(ctx context.Context) error {
	if g != nil && g.isClosed() {
		g.wait(ctx.Done())
	}
	return ctx.Err()
}

// isClosed closes the gate first if a search runs that has met no work yet.
func (g *Gate) isClosed() bool {
	if !g.working.Load() {
		g.working.Store(true) // a search that begins after this closes the gate
		if g.searches.Load() > 0 {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.close(time.Now())
		}
	}
	return g.closed.Load()
}

func (g *Gate) wait(done <-chan struct{}) {
	g.mu.Lock()
	opened, left := g.opened, g.credit-time.Since(g.changed)
	if opened != nil && left <= 0 {
		g.open(time.Now())
		opened = nil
	}
	if opened != nil {
		g.waiting++
	}
	g.mu.Unlock()
	if opened == nil {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	late := false
	select {
	case <-opened:
	case <-done:
	case <-timer.C:
		late = true
	}
	g.mu.Lock()
	g.waiting--
	g.mu.Unlock()
	if late {
		g.wait(done) // opens it
	}
}
