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

// A job that ends at the same time at both places goes to the CPU.
func TestChooseIfAlike(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 1, Lanes: 1})
	if j := arrive(t, s, 0, ms, ms); j.entry.aimed != CPU {
		t.Errorf("the job waits for the %s", j.entry.aimed)
	}
	if j := arrive(t, s, 0, ms, ms-1); j.entry.aimed != GPU {
		t.Errorf("a job that is faster on the GPU waits for the %s", j.entry.aimed)
	}
}

// A job leaves the place of its group if it ends there after its deadline, and at the other
// place not after it.
func TestChooseForDeadline(t *testing.T) {
	for _, c := range []struct {
		cpu, within time.Duration
		want        Place
	}{
		{12 * ms, 15 * ms, GPU}, // it ends there at 10 + 5 ms
		{12 * ms, 15*ms - 1, CPU},
		{15*ms - 1, 15*ms - 1, CPU},
		{15 * ms, 15*ms - 1, GPU},
	} {
		s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1})
		arrive(t, s, 0, Never, 10*ms)
		next(s, 0, GPU)
		j := &Job{Cost: both(c.cpu, 5*ms)}
		j.Deadline = c.within
		if p, g, _, ok := s.choose(0, j); p != c.want || g != own || !ok {
			t.Errorf("a job of %v on the CPU, within %v, waits for the %s, want the %s", c.cpu, c.within, p, c.want)
		}
	}
}

// A job of the third group is predicted to end where it ends first.
func TestEndOfThirdGroup(t *testing.T) {
	for _, busy := range []Place{CPU, GPU} {
		s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1})
		for p := range Place(NumPlaces) {
			cost := both(Never, Never)
			if cost[p] = 5 * ms; p == busy {
				cost[p] = 50 * ms
			}
			arrive(t, s, 0, cost[CPU], cost[GPU])
			next(s, 0, p)
		}
		j := &Job{Cost: both(10*ms, 11*ms)}
		j.Deadline = 20 * ms
		want := 5*ms + j.Cost[busy.Other()]
		if p, g, end, ok := s.choose(0, j); p != CPU || g != open || end != want || !ok {
			t.Errorf("the %s is busy: in group %d of the %s, it ends at %v, want the third group, %v", busy, g, p, end, want)
		}
	}
}

// The thresholds adapt at every 16th arrival of a job that can run at both places.
func TestThresholdsAdaptPeriodically(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1, Threshold: 0.2})
	arrive(t, s, 0, 10*ms, Never)
	next(s, 0, CPU)
	want := 0.2
	for i := range 3 * adaptEvery {
		if (i+1)%adaptEvery == 0 {
			want *= 1.25
		}
		s.choose(0, &Job{Cost: both(ms, ms), Deadline: Never})
		if got := s.Stats(0).Thresholds[CPU]; got != want {
			t.Fatalf("after %d jobs, the threshold of the busy CPU is %v, want %v", i+1, got, want)
		}
	}
}

// A job that is too late for its server moves to the other place if it ends there by its
// deadline, and expires otherwise. The other place is asked at once if it is idle.
func TestTooLateForItsServer(t *testing.T) {
	const now = 30 * ms
	for name, c := range map[string]struct {
		within time.Duration
		busy   bool // the GPU, until 31 ms
		moves  bool
		wake   time.Duration
	}{
		"in time":              {36 * ms, false, true, now},
		"too late":             {36*ms - 1, false, false, Never},
		"in time, but busy":    {37 * ms, true, true, now + 2*ms}, // it ends at 37 ms there, at 39 ms here
		"too late if it waits": {37*ms - 1, true, false, Never},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, Options{CPUs: 1, Lanes: 1, MaxBatch: 1, Urgent: 1})
			first := [NumPlaces]*Job{arrive(t, s, 0, 10*ms, Never), arrive(t, s, 0, Never, 100*ms)}
			for p := range first {
				next(s, 0, Place(p))
			}
			j := &Job{Cost: both(9*ms, 6*ms), Within: c.within}
			if err := s.Arrive(0, j); err != nil || j.entry.aimed != CPU {
				t.Fatalf("%v, aimed at the %s", err, j.entry.aimed)
			}
			s.Done(ms, GPU, []*Job{first[GPU]}, 0)
			if c.busy {
				arrive(t, s, 29*ms, Never, 2*ms)
				next(s, 29*ms, GPU)
			}
			s.Done(now, CPU, []*Job{first[CPU]}, 0)
			got, wake := s.Next(now, CPU, nil)
			if len(got) != 0 || wake != c.wake {
				t.Errorf("%d jobs begin, wake at %v, want %v", len(got), wake, c.wake)
			}
			if expired := len(s.Expired(nil)) == 1; expired == c.moves || (j.entry.group == urgent && j.entry.aimed == GPU) != c.moves {
				t.Errorf("expired: %t, in group %d of the %s", expired, j.entry.group, j.entry.aimed)
			}
			if jobs := next(s, now, GPU); len(jobs) > 0 {
				s.Done(now, GPU, jobs, 0)
			}
			if got, wake := s.Next(now, CPU, nil); len(got) != 0 || wake == now {
				t.Errorf("after the GPU was asked, %d jobs begin, wake at %v", len(got), wake)
			}
		})
	}
}
