package sched

import (
	"testing"
	"time"
)

// The third group begins at the faster place if it is idle, and waits for either place
// otherwise.
func TestOpenJobBeginsAtOnce(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1})
	first, second := &Job{Cost: both(11*ms, 10*ms)}, &Job{Cost: both(11*ms, 10*ms)}
	if running, err := s.arrive(0, first, 0, true); !running || err != nil || first.Place != GPU {
		t.Errorf("at an idle GPU: running %t at %v, %v", running, first.Place, err)
	}
	if running, err := s.arrive(0, second, 0, true); running || err != nil {
		t.Errorf("at a busy GPU: running %t, %v", running, err)
	}
	if got := next(s, 0, CPU); len(got) != 1 || got[0] != second {
		t.Errorf("the idle CPU begins %d jobs, want the second", len(got))
	}
}

// TestStealByAddedCost: a job of the CPU that could join a launch counts with the time that
// it adds to the launch, after the jobs before it.
func TestStealByAddedCost(t *testing.T) {
	for _, c := range []struct {
		first, batched time.Duration
		want           int
	}{
		{5 * ms, ms, 2},
		{5 * ms, 24 * ms, 2},
		{5 * ms, 26 * ms, 1},
		{28 * ms, ms, 2},
		{30 * ms, ms, 1},
	} {
		s := newScheduler(t, Options{CPUs: 1, Lanes: 1})
		arrive(t, s, 0, 10*ms, Never)
		next(s, 0, CPU)
		// Waiting, the job ends on the CPU at 10 + 20 ms.
		if err := s.Arrive(0, &Job{Cost: both(20*ms, 90*ms), Batched: c.batched}); err != nil {
			t.Fatal(err)
		}
		if err := s.Arrive(0, &Job{Cost: both(Never, c.first), Batched: c.first}); err != nil {
			t.Fatal(err)
		}
		if got := len(next(s, 0, GPU)); got != c.want {
			t.Errorf("a launch of %v to which the job adds %v has %d jobs, want %d", c.first, c.batched, got, c.want)
		}
	}
}
