package turns

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Turns is a number of turns, which go to those who wait: to the lowest rank first (At), and in the order of waiting among
// equals. One in fairness turns goes to the one who has waited longest, so that nobody waits for ever. It is safe for
// concurrent use; nil gives any number of turns.
type Turns struct {
	rank int
	*pool
}

// pool is what Turns of different ranks share.
type pool struct {
	gate    *Gate // nil: none
	mu      sync.Mutex
	limit   int
	taken   int
	waiting []waiter // in the order of waiting
	handed  int      // turns that went to one who waited
	passed  int      // calls of Yield with waiting ones, since one gave its turn
	// numWaiting is len(waiting), for Yield.
	numWaiting atomic.Int64
}

type waiter struct {
	rank int
	turn chan struct{} // closed when it has its turn
}

// fairness bounds how long a high rank waits.
const fairness = 4

// New returns n turns of rank 0.
func New(n int) *Turns { return NewBehind(n, nil) }

// NewBehind returns n turns of rank 0, whose holders pass a gate when they yield.
func NewBehind(n int, gate *Gate) *Turns { return &Turns{pool: &pool{limit: n, gate: gate}} }

// At returns the same turns for somebody of a rank, at least 0. Work that is soon done, and for which others wait, has a low
// one.
func (t *Turns) At(rank int) *Turns {
	if t == nil {
		return nil
	}
	return &Turns{rank, t.pool}
}

// Take waits for a turn.
func (t *Turns) Take() {
	if t == nil {
		return
	}
	t.mu.Lock()
	if t.taken < t.limit && len(t.waiting) == 0 {
		t.taken++
		t.mu.Unlock()
		return
	}
	mine := make(chan struct{})
	t.waiting = append(t.waiting, waiter{t.rank, mine})
	t.numWaiting.Add(1)
	t.mu.Unlock()
	<-mine
}

// Give gives a turn back.
func (t *Turns) Give() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	t.hand()
}

// SetLimit changes the number of turns. If there are fewer, they are not handed on.
func (t *Turns) SetLimit(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit = n
	t.hand()
}

// hand gives free turns to those who wait. p.mu is held.
func (p *pool) hand() {
	for p.taken < p.limit && len(p.waiting) > 0 {
		next := 0
		if p.handed++; p.handed%fairness != 0 {
			next = p.first()
		}
		p.taken++
		close(p.waiting[next].turn)
		p.waiting = slices.Delete(p.waiting, next, next+1)
		p.numWaiting.Add(-1)
	}
}

// first is the one of the lowest rank who has waited longest. p.mu is held, and somebody waits.
func (p *pool) first() (first int) {
	for i := range p.waiting {
		if p.waiting[i].rank < p.waiting[first].rank {
			first = i
		}
	}
	return first
}

// Pass passes the gate, with the caller's turn. It takes some nanoseconds if no search runs.
func (t *Turns) Pass() {
	if t != nil {
		t.gate.Pass()
	}
}

// Yield passes the gate, and lets those who wait have their turn before the caller goes on: each of its rank or below,
// and others one in fairness times. It takes some nanoseconds if nobody waits.
func (t *Turns) Yield() {
	t.Pass()
	if t == nil || t.numWaiting.Load() == 0 || !t.yields(t.rank) {
		return
	}
	t.Give()
	t.Take()
}

// yields reports whether the holder of a turn gives it to one who waits.
func (p *pool) yields(rank int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return false
	}
	if p.passed++; p.waiting[p.first()].rank > rank && p.passed < fairness {
		return false
	}
	p.passed = 0
	return true
}

// Wait calls f, which waits for others, without the caller's turn.
func (t *Turns) Wait(f func()) {
	t.Give()
	defer t.Take()
	f()
}
