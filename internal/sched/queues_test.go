package sched

import (
	"testing"
	"time"
)

// TestKey checks the order of waiting jobs against the formula of the package comment.
func TestKey(t *testing.T) {
	const arrived = 100 * ms
	for _, c := range []struct {
		stretch             float64
		here, there, within time.Duration
		want                time.Duration // after the arrival
	}{
		{2, 10 * ms, 10 * ms, Never, 20 * ms},
		{2, 10 * ms, 5 * ms, Never, 20 * ms},
		{2, 10 * ms, 40 * ms, Never, 12500 * us}, // affinity 3/4
		{2, 10 * ms, 11 * ms, Never, 20*ms - 20*ms/22},
		{2, 10 * ms, 40 * ms, 22 * ms, 12 * ms}, // the last start
		{2, 10 * ms, 40 * ms, 23 * ms, 12500 * us},
		{2, 10 * ms, 40 * ms, 5 * ms, 0},
		{-1, 10 * ms, 40 * ms, Never, 0}, // in order of arrival
		{-1, 10 * ms, 40 * ms, 5 * ms, 0},
	} {
		s := newScheduler(t, Options{CPUs: 1, Lanes: 1, Stretch: c.stretch})
		j := &Job{Cost: both(c.there, c.here)}
		j.Arrived, j.Deadline = arrived, plus(arrived, c.within)
		if got := s.queues.key(j, GPU) - arrived; (got - c.want).Abs() > 1 {
			t.Errorf("stretch %v, costs %v and %v, deadline in %v: key %v after the arrival, want %v", c.stretch, c.here, c.there, c.within, got, c.want)
		}
	}
}
