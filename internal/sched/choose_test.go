package sched

import "testing"

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
