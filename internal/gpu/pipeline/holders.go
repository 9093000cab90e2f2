package pipeline

import "sync"

// holders are the runs that have lists of a device pinned, so that one for which there
// is no room can wait for one of them to end. The zero value has none. Safe for
// concurrent use.
type holders struct {
	mu    sync.Mutex
	ended sync.Cond // of mu; L is set by the first that waits
	n     int
	count uint64 // of those that have let go of their lists
}

// begin notes a run that is about to pin lists, and returns how many have let go of theirs.
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

// wait is called by a run for which there was no room and that has ended, since others may
// have found none for what it had pinned until then, with what begin returned. It waits until another
// one has let go of its lists since then, and reports whether one has: false if there is
// none that could.
func (h *holders) wait(count uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended.L = &h.mu
	own := count + 1
	for h.count == own && h.n > 0 {
		h.ended.Wait()
	}
	return h.count != own
}
