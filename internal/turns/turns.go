package turns

import (
	"sync"
	"sync/atomic"
)

// Turns is a number of turns, which go to those who wait in their order. It is safe for concurrent use; nil
// gives any number of turns.
type Turns struct {
	gate    *Gate // nil: none
	mu      sync.Mutex
	limit   int
	taken   int
	waiting []chan struct{}
	// numWaiting is len(waiting), for Yield.
	numWaiting atomic.Int64
}

// New returns n turns.
func New(n int) *Turns { return &Turns{limit: n} }

// NewBehind returns n turns, whose holders pass a gate when they yield.
func NewBehind(n int, gate *Gate) *Turns { return &Turns{limit: n, gate: gate} }

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
	t.waiting = append(t.waiting, mine)
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

// hand gives free turns to those who wait. t.mu is held.
func (t *Turns) hand() {
	for t.taken < t.limit && len(t.waiting) > 0 {
		t.taken++
		close(t.waiting[0])
		t.waiting = t.waiting[1:]
		t.numWaiting.Add(-1)
	}
}

// Pass passes the gate, with the caller's turn. It takes some nanoseconds if no search runs.
func (t *Turns) Pass() {
	if t != nil {
		t.gate.Pass()
	}
}

// Yield passes the gate, and lets those who wait have their turn before the caller goes on. It takes some
// nanoseconds if nobody waits.
func (t *Turns) Yield() {
	t.Pass()
	if t == nil || t.numWaiting.Load() == 0 {
		return
	}
	t.Give()
	t.Take()
}

// Wait calls f, which waits for others, without the caller's turn.
func (t *Turns) Wait(f func()) {
	t.Give()
	defer t.Take()
	f()
}
