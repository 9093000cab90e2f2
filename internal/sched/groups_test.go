package sched

import (
	"math"
	"testing"
	"time"
)

// TestGroupsAdaptExactly: a wait counts as longer if it is more than double the other's plus
// the slack.
func TestGroupsAdaptExactly(t *testing.T) {
	const short, long = ms, 2*ms + adaptSlack
	same := [NumPlaces]float64{0.4 - 0.2/8, 0.1 + 0.1/8} // both return towards the base of 0.2
	for _, c := range []struct {
		cpu, gpu time.Duration
		want     [NumPlaces]float64 // CPU, GPU
	}{
		{long + 1, short, [...]float64{0.4 * 1.25, 0.1 * 0.8}},
		{long, short, same},
		{short, long, same},
		{short, long + 1, [...]float64{0.4 * 0.8, 0.1 * 1.25}},
	} {
		g := groups{base: 0.2, at: [NumPlaces]float64{0.4, 0.1}}
		if g.adapt(c.cpu, c.gpu); !near(g.at, c.want) {
			t.Errorf("waits of %v and %v: thresholds %v, want %v", c.cpu, c.gpu, g.at, c.want)
		}
	}
}

func near(a, b [NumPlaces]float64) bool {
	return math.Abs(a[CPU]-b[CPU]) < 1e-12 && math.Abs(a[GPU]-b[GPU]) < 1e-12
}
