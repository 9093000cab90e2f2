package pipeline

import "testing"

// The crowds of a pass end together and come again one after another: none of them counts as alone.
func TestCrowds(t *testing.T) {
	var c crowds
	come := func(n int) (together []int) {
		for range n {
			together = append(together, c.enter())
		}
		for range n {
			c.leave()
		}
		return together
	}
	if got := come(4); got[0] != 1 || got[3] != 4 {
		t.Fatalf("the first four crowds: %v", got)
	}
	for range 10 {
		if got := come(4); got[0] != 4 {
			t.Fatalf("four crowds at a time: %v", got)
		}
	}
	for i := range recentCrowds - 1 {
		if got := come(1)[0]; got != 4 {
			t.Fatalf("crowd %d that comes alone: %d", i, got)
		}
	}
	for range 10 {
		if got := come(1)[0]; got != 1 {
			t.Fatalf("one crowd at a time: %d", got)
		}
	}
}
