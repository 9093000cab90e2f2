package pipeline

import (
	"context"
	"sync"
)

// holders are the runs that have lists of a device pinned, so that one for which there
// is no room can wait for one of them to end. The zero value has none. Safe for
// concurrent use.
type holders struct {
	mu    sync.Mutex
	ended chan struct{} // closed when the next one ends; nil: nobody waits for that
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
	if h.ended != nil {
		close(h.ended)
		h.ended = nil
	}
}

// wait is called by a run for which there was no room and that has ended, since others may
// have found none for what it had pinned until then, with what begin returned. It waits
// until another one has let go of its lists since then, or ctx ends, and reports whether
// it may try again: not if there is none that could let go of any.
func (h *holders) wait(ctx context.Context, count uint64) bool {
	for own := count + 1; ; {
		h.mu.Lock()
		if h.count != own || h.n == 0 {
			defer h.mu.Unlock()
			return h.count != own
		}
		if h.ended == nil {
			h.ended = make(chan struct{})
		}
		ended := h.ended
		h.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return true
		}
	}
}
