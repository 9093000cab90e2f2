package residency

import (
	"context"
	"sync"
)

// holders counts the runs that have lists of a device pinned, so that a run without room can
// wait for another to end. The zero value is ready for use, and safe for concurrent use.
type holders struct {
	mu    sync.Mutex
	ended chan struct{} // closed when the next run ends; nil: no waiter
	n     int
	count uint64 // ended runs
}

// begin registers a run that is about to pin lists, and returns the number of ended runs.
func (h *holders) begin() (count uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	return h.count
}

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

// wait is for a run that found no room and has called end, since its pins may have left other
// runs without room; count is from its begin. It returns when another run has ended since, or
// ctx is done, and false if no other run holds lists, so that a retry is useless.
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
