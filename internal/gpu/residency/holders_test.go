package residency

import (
	"context"
	"testing"
)

func TestHolders(t *testing.T) {
	var h holders
	ended := h.begin()
	h.end()
	if h.wait(t.Context(), ended) {
		t.Error("wait = true for the only run")
	}
	ended = h.begin()
	h.begin()
	h.end()
	h.end()
	if !h.wait(t.Context(), ended) {
		t.Error("wait = false although another run has ended before")
	}
	ended = h.begin()
	h.begin()
	h.end()
	go h.end()
	if !h.wait(t.Context(), ended) {
		t.Error("wait = false although another run ended meanwhile")
	}
	ended = h.begin()
	h.begin()
	h.end()
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if !h.wait(ctx, ended) {
		t.Error("wait = false after the context ended")
	}
}
