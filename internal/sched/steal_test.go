package sched

import (
	"slices"
	"testing"
	"time"
)

// An idle place takes a job that then ends earlier and in time. If none does, it looks again
// when one would, if the other place made no progress.
func TestStealLimits(t *testing.T) {
	const now, there = 2 * ms, 15 * ms // the GPU is busy until 10 ms, and the job takes 5
	for name, c := range map[string]struct {
		cost, deadline time.Duration
		alone, runLate bool
		stolen         bool
		wake           time.Duration
	}{
		"ends earlier":          {there - now - 1, Never, false, false, true, Never},
		"ends earlier, alone":   {there - now - 1, Never, true, false, true, Never},
		"ends together":         {there - now, Never, false, false, false, now + soonest},
		"ends a little later":   {there - now + 1, Never, false, false, false, now + soonest},
		"ends much later":       {there - now + 3*ms, Never, false, false, false, now + 3*ms},
		"never ends":            {Never - 1, Never, false, false, false, Never},
		"ends at the deadline":  {8 * ms, now + 8*ms, false, false, true, Never},
		"ends too late":         {8 * ms, now + 8*ms - 1, false, false, false, Never},
		"ends too late, but ok": {8 * ms, now + 8*ms - 1, false, true, true, Never},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1, MaxBatch: 1, RunLate: c.runLate})
			arrive(t, s, 0, Never, 10*ms)
			next(s, 0, GPU)
			j := &Job{Cost: both(c.cost, 5*ms), Alone: c.alone}
			if err := s.Arrive(0, j); err != nil || j.entry.aimed != GPU {
				t.Fatalf("%v, aimed at the %s", err, j.entry.aimed)
			}
			j.Deadline = c.deadline
			got, wake := s.steal(now, CPU, 0)
			if (got == j) != c.stolen || wake != c.wake {
				t.Errorf("stolen: %t, wake at %v; want %t, %v", got == j, wake, c.stolen, c.wake)
			}
		})
	}
}

// A job that joins a launch begins after the fixed part of the jobs before it, too.
func TestStealIntoLaunch(t *testing.T) {
	for batched, want := range map[time.Duration]int{24 * ms: 2, 25*ms - 1: 2, 25 * ms: 1, 26 * ms: 1} {
		s := newScheduler(t, Options{CPUs: 1, Lanes: 1})
		arrive(t, s, 0, 10*ms, Never)
		next(s, 0, CPU)
		// Waiting, the job ends on the CPU at 10 + 20 ms.
		if err := s.Arrive(0, &Job{Cost: both(20*ms, 90*ms), Batched: batched}); err != nil {
			t.Fatal(err)
		}
		if err := s.Arrive(0, &Job{Cost: both(Never, 5*ms), Batched: 2 * ms}); err != nil {
			t.Fatal(err)
		}
		if got := len(next(s, 0, GPU)); got != want {
			t.Errorf("a launch of 5 ms to which the job adds %v has %d jobs, want %d", batched, got, want)
		}
		if stolen := s.Stats(0).Stolen; stolen != int64(want-1) {
			t.Errorf("a launch to which the job adds %v: %d jobs stolen, want %d", batched, stolen, want-1)
		}
	}
}

// A launch takes the urgent jobs before the others, and counts none as stolen.
func TestFillTakesUrgentFirst(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 1, Lanes: 1, MaxBatch: 3})
	run := []*Job{arrive(t, s, 0, Never, 10*ms)}
	next(s, 0, GPU)
	small := arrive(t, s, 0, Never, us)
	var near [2]*Job
	for i := range near {
		near[i] = &Job{Cost: both(Never, 5*ms), Within: 40 * ms}
		if err := s.Arrive(0, near[i]); err != nil {
			t.Fatal(err)
		}
	}
	s.Done(20*ms, GPU, run, 0)
	if got := next(s, 20*ms, GPU); !slices.Equal(got, []*Job{near[0], near[1], small}) || near[1].Stolen {
		t.Errorf("a launch of %d, want the two urgent jobs, then the small one", len(got))
	}
	if st := s.Stats(20 * ms); st.Stolen != 0 || st.Places[GPU].Batches != 1 || st.Places[GPU].Jobs != 4 {
		t.Errorf("%+v", st)
	}
}

// The largest batch does not depend on the slice that the caller appends to, and the others wait.
func TestNextAppends(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: -1, Lanes: 1, MaxBatch: 3, Stretch: -1})
	before := make([]*Job, 2)
	want := slices.Clone(before)
	for i := range 5 {
		if j := arrive(t, s, 0, Never, ms); i < 3 {
			want = append(want, j)
		}
	}
	if got, _ := s.Next(0, GPU, before); !slices.Equal(got, want) {
		t.Errorf("%d jobs, want the 2 before and 3 of the launch", len(got))
	}
}

// A job of the third group joins a launch if its addition is at most its time on the CPU.
func TestFillOfThirdGroupLimit(t *testing.T) {
	for batched, want := range map[time.Duration]int{10 * ms: 2, 10*ms + 1: 1} {
		s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1})
		arrive(t, s, 0, 100*ms, Never)
		next(s, 0, CPU)
		arrive(t, s, 0, Never, 10*ms)
		first := next(s, 0, GPU)
		arrive(t, s, 0, Never, ms)
		if err := s.Arrive(0, &Job{Cost: both(10*ms, 11*ms), Batched: batched}); err != nil {
			t.Fatal(err)
		}
		s.Done(ms, GPU, first, 0)
		if got := next(s, ms, GPU); len(got) != want {
			t.Errorf("with a job that adds %v, a launch of %d, want %d", batched, len(got), want)
		}
	}
}
