package pipeline

import "testing"

// A run that found no room tries again if another one let go of lists meanwhile,
// whether it kept some to compute with or found no room either; it gives up where
// there was none.
func TestHolders(t *testing.T) {
	var h holders
	ended := h.begin()
	h.end()
	if h.wait(ended) {
		t.Error("a run that is alone waits for another")
	}
	for name, other := range map[string]func(){"ended": h.end, "left": h.end} {
		ended = h.begin()
		h.begin()
		other()
		h.end()
		if !h.wait(ended) {
			t.Errorf("another run has %s while one found no room, and it gives up", name)
		}
	}
	ended = h.begin()
	h.begin()
	h.end()
	go h.end()
	if !h.wait(ended) {
		t.Error("another run lets go of lists while one waits, and it gives up")
	}
}
