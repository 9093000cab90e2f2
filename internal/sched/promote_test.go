package sched

import (
	"testing"
	"time"
)

// A job precedes the others of its place from the given share of the time to its deadline,
// and does not change its place.
func TestPromoteAtUrgency(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1, Urgent: 0.25})
	j := &Job{Cost: both(ms, 10*ms), Within: 80 * ms}
	if err := s.Arrive(100*ms, j); err != nil {
		t.Fatal(err)
	}
	const at = 120 * ms
	if s.promote(at - 1); j.entry.group != own {
		t.Errorf("a nanosecond before %v, the job is in group %d", at, j.entry.group)
	}
	if s.promote(at); j.entry.group != urgent || j.entry.aimed != GPU {
		t.Errorf("at %v, the job is in group %d of the %s", at, j.entry.group, j.entry.aimed)
	}
}

// A job of the third group joins, after its stretch, the place where it ends first: the
// faster one if both are alike.
func TestPromoteThirdGroup(t *testing.T) {
	for name, c := range map[string]struct {
		cpu, gpu time.Duration // of the runs
		want     Place
	}{
		"CPU":   {99 * ms, 100 * ms, CPU},
		"alike": {99 * ms, 98 * ms, CPU},
		"GPU":   {99 * ms, 97 * ms, GPU},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1, Stretch: 2})
			arrive(t, s, 0, c.cpu, Never)
			next(s, 0, CPU)
			arrive(t, s, 0, Never, c.gpu)
			next(s, 0, GPU)
			j := arrive(t, s, ms, 10*ms, 11*ms)
			if s.promote(21*ms - 1); j.entry.group != open {
				t.Errorf("the job leaves the third group before 20 ms")
			}
			if s.promote(21 * ms); j.entry.group != own || j.entry.aimed != c.want {
				t.Errorf("the job is in group %d of the %s, want its own of the %s", j.entry.group, j.entry.aimed, c.want)
			}
		})
	}
}
