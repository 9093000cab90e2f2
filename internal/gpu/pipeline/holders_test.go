package pipeline

import (
	"context"
	"testing"
)

// A run that found no room tries again if another one let go of lists meanwhile,
// whether it kept some to compute with or found no room either; it gives up where
// there was none.
func TestHolders(t *testing.T) {
	var h holders
	ended := h.begin()
	h.end()
	if h.wait(t.Context(), ended) {
		t.Error("a run that is alone waits for another")
	}
	ended = h.begin()
	h.begin()
	h.end()
	h.end()
	if !h.wait(t.Context(), ended) {
		t.Error("another run has ended while one found no room, and it gives up")
	}
	ended = h.begin()
	h.begin()
	h.end()
	go h.end()
	if !h.wait(t.Context(), ended) {
		t.Error("another run lets go of lists while one waits, and it gives up")
	}
	ended = h.begin()
	h.begin()
	h.end()
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if !h.wait(ctx, ended) {
		t.Error("a run whose context ends takes it for a lack of room")
	}
}
