package sched

import (
	"sync/atomic"
	"time"
)

// A query that a GPU could answer takes a CPU for tens to thousands of microseconds, in which the CPU could
// have fed tens of queries to the GPU: planned them, launched them and completed them. A query on an idle CPU costs
// nothing. To detect idle CPUs, the pool measures the delay until a goroutine runs after its job has got a server: a
// few microseconds while CPUs are idle, and the time of a query while all CPUs run queries.

// prompt is the time within which a goroutine runs while a CPU is idle.
const prompt = 100 * time.Microsecond

// The pool halves the number of CPUs for such queries after lessAfter in which most goroutines were
// late, and adds one after moreAfter otherwise.
const (
	lessAfter = time.Millisecond
	moreAfter = 4 * time.Millisecond
)

// promptness counts goroutines that were woken for a server.
type promptness struct {
	late, inTime atomic.Int32
	since        time.Duration // of the counts; guarded by Pool.mu
}

func (p *promptness) observe(after time.Duration) {
	if after > prompt {
		p.late.Add(1)
	} else {
		p.inTime.Add(1)
	}
}

// adjust adapts the number of spare CPUs. The lock is held.
func (p *Pool) adjust(now time.Duration) {
	c := &p.promptness
	passed := now - c.since
	if passed < lessAfter {
		return
	}
	late := c.late.Load() > c.inTime.Load()
	if !late && passed < moreAfter {
		return
	}
	c.late.Store(0)
	c.inTime.Store(0)
	c.since = now
	st := &p.s.queues.places[CPU]
	if late {
		st.setSpare(max(st.spareServers/2, 1))
	} else {
		st.setSpare(min(st.spareServers+1, len(st.runs)))
	}
}

// Spare reports, without a lock, whether a CPU may take work that a GPU could do. While it may not, such
// jobs should be Patient.
func (p *Pool) Spare() bool { return p.s.queues.places[CPU].spare.Load() }
