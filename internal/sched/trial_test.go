package sched

import (
	"testing"
	"time"
)

// TestTrialPause: trials of jobs that are predicted to be late keep their distance, and a
// job whose predicted time is far beyond its deadline is not tried.
func TestTrialPause(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 1, Lanes: 1})
	for _, c := range []struct {
		now, cost, left time.Duration
		want            bool
	}{
		{0, 600 * ms, 10*ms - 1, false},
		{0, 600 * ms, 10 * ms, true},
		{trialPause*600*ms - 1, ms, ms, false},
		{trialPause * 600 * ms, 2 * ms, ms, true},
		{trialPause*602*ms - 1, ms, ms, false},
		{trialPause * 602 * ms, ms, ms, true},
		{time.Hour, 600 * ms, 10*ms - 1, false},
	} {
		j := &Job{Cost: both(c.cost, Never)}
		j.Deadline = c.now + c.left
		if got := s.tries(c.now, j, CPU); got != c.want {
			t.Errorf("at %v, a job of %v with %v left: tried %t, want %t", c.now, c.cost, c.left, got, c.want)
		}
	}
}
