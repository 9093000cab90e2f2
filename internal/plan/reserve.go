package plan

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// reserve keeps helpers that have no team, and starts them again. Each waits for a byte in a pipe of its own: the
// runtime wakes the threads of several readers at once, but starts threads for new goroutines one after another. A
// goroutine that reads a pipe does not occupy a processor, unlike one in a blocking system call. reserve is safe for
// concurrent use.
//
// A bubble of testing/synctest is not idle while a helper waits, so no query in it may be shared.
type reserve struct {
	most int           // helpers that wait
	stay time.Duration // a helper that has waited this long leaves
	pipe func() (r, w *os.File, err error)

	mu   sync.Mutex
	idle []*helper // the last one came last
}

type helper struct {
	ready, wake *os.File // the ends of the pipe; nil before it first waits
	one         [1]byte
	team        atomic.Pointer[team] // set by take; who swaps it out serves it
	leaves      bool                 // it waits no more
}

// helpers is the reserve of the process: all crews share its processors.
var helpers = reserve{most: runtime.NumCPU(), stay: 5 * time.Second, pipe: os.Pipe}

var wakeByte = []byte{1}

// start starts a helper for a team, which it has joined.
func (r *reserve) start(t *team) {
	h := r.take(t)
	if h == nil {
		go r.serve(t)
		return
	}
	if _, err := h.wake.Write(wakeByte); err != nil { // h has left, or will
		if t := h.team.Swap(nil); t != nil {
			go r.serve(t)
		}
	}
}

// serve helps a team, and later others.
func (r *reserve) serve(t *team) {
	h := new(helper)
	for t != nil {
		t.crew.serve(t)
		t = r.wait(h)
	}
	h.ready.Close()
	h.wake.Close()
}

// wait returns the helper's next team, nil if it must leave.
func (r *reserve) wait(h *helper) *team {
	if h.leaves || !r.enter(h) {
		return nil
	}
	if _, err := h.ready.Read(h.one[:]); err != nil {
		h.leaves = true // if start took it meanwhile, a byte may follow
		if r.remove(h) {
			return nil
		}
	}
	return h.team.Swap(nil)
}

// enter reports whether the helper may wait.
func (r *reserve) enter(h *helper) bool {
	if h.ready == nil {
		var err error
		if h.ready, h.wake, err = r.pipe(); err != nil {
			return false
		}
	}
	if h.ready.SetReadDeadline(time.Now().Add(r.stay)) != nil { // its read would block a thread
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.idle) >= r.most {
		return false
	}
	r.idle = append(r.idle, h)
	return true
}

// take takes the helper that came last and gives it a team; nil if none waits.
func (r *reserve) take(t *team) *helper {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.idle) - 1
	if last < 0 {
		return nil
	}
	h := r.idle[last]
	r.idle[last], r.idle = nil, r.idle[:last]
	h.team.Store(t)
	return h
}

// remove reports whether the helper still waited.
func (r *reserve) remove(h *helper) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.idle, h)
	if i < 0 {
		return false
	}
	r.idle = slices.Delete(r.idle, i, i+1)
	return true
}
