package pipeline

import "sync"

// holders are the runs that have lists of a device pinned, so that one for which there
// is no room can wait for one of them to end. The zero value has none. Safe for
// concurrent use.
type holders struct {
	mu    sync.Mutex
	ended sync.Cond // of mu; L is set by the first that waits
	n     int
	count uint64 // of those that have ended
}

// begin notes a run that is about to pin lists, and returns how many have ended.
func (h *holders) begin() (count uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	return h.count
}

// end notes that a run has let go of its lists.
func (h *holders) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n--
	h.count++
	if h.ended.L != nil {
		h.ended.Broadcast()
	}
}

// leave notes that a run has pinned none.
func (h *holders) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n--
	if h.n == 0 && h.ended.L != nil {
		h.ended.Broadcast()
	}
}

// wait waits until a run has ended after count had, and reports whether one has: false
// if there is none that could.
func (h *holders) wait(count uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended.L = &h.mu
	for h.count == count && h.n > 0 {
		h.ended.Wait()
	}
	return h.count != count
}
