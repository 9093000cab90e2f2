package sched

import (
	"errors"
	"testing"
	"time"
)

// A part of a request that was admitted is not shed, however late it is and however many
// jobs wait, and has no deadline.
func TestAdmittedJobsAreNotShed(t *testing.T) {
	for _, within := range []time.Duration{0, us} {
		s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 1, MaxQueue: 1, Deadline: 5 * ms})
		for i := range 3 {
			j := &Job{Cost: both(10*ms, Never), Within: within, Admitted: true}
			if err := s.Arrive(ms, j); err != nil || j.Deadline != Never {
				t.Errorf("job %d: %v, deadline %v", i, err, j.Deadline)
			}
		}
	}
}

// RetryAfter is half of the predicted time until the end of the job if the queue is
// full, and the excess over the deadline if the job is late.
func TestRetryAfterExactly(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 1, MaxQueue: 2, Stretch: -1})
	const now = 7 * ms
	arrive(t, s, now, 10*ms, Never)
	next(s, now, CPU)
	shed := func(j *Job, want Overload) {
		t.Helper()
		var got *Overload
		if err := s.Arrive(now, j); !errors.As(err, &got) || *got != want {
			t.Errorf("%v, want %v", err, &want)
		}
	}
	arrive(t, s, now, 20*ms, Never)
	shed(&Job{Cost: both(6*ms, Never), Within: 30 * ms}, Overload{TooLate, 6 * ms})
	shed(&Job{Cost: both(us, Never), Within: 30 * ms}, Overload{TooLate, ms})
	arrive(t, s, now, 4*ms, Never)
	shed(&Job{Cost: both(6*ms, Never)}, Overload{QueueFull, 20 * ms})
	if st := s.Stats(now); st.Arrived != 6 || st.Shed != [numReasons]int64{1, 2, 0} {
		t.Errorf("%+v", st)
	}
}

// A full queue rejects a job that would wait at its place, although the other is idle.
func TestFullQueueOfOnePlace(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1, MaxQueue: 1})
	arrive(t, s, 0, ms, ms)
	next(s, 0, GPU)
	arrive(t, s, 0, ms, ms)
	var full *Overload
	if err := s.Arrive(0, &Job{Cost: both(ms, ms)}); !errors.As(err, &full) || full.Reason != QueueFull {
		t.Errorf("%v, want a full queue", err)
	}
}

// An idle GPU that gathers jobs makes an arriving job wait for the window, or half of it if
// others wait there already.
func TestPredictedGathering(t *testing.T) {
	const window = 4 * ms
	for name, c := range map[string]struct {
		policy Policy
		gap    time.Duration
		others bool
		want   time.Duration
	}{
		"frequent arrivals": {PolicyGPU, window - 1, false, window},
		"others wait":       {PolicyGPU, window - 1, true, window / 2},
		"rare arrivals":     {PolicyGPU, window, false, 0},
		"rare, others wait": {PolicyGPU, window, true, 0},
		"batch":             {PolicyBatch, 0, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, Options{Policy: c.policy, CPUs: 1, Lanes: 2, Window: window})
			if c.others {
				arrive(t, s, ms, Never, 0)
			}
			s.gap = c.gap
			if got := s.end(ms, &Job{Cost: both(Never, 3*ms)}, GPU); got != ms+c.want+3*ms {
				t.Errorf("the job ends at %v, want %v after its arrival and 3 ms", got, c.want)
			}
		})
	}
}

// Jobs that may be late do not end the gathering before they are near their deadline.
func TestGatheringOfLateJobs(t *testing.T) {
	for _, runLate := range []bool{false, true} {
		s := newScheduler(t, Options{Policy: PolicyBatch, CPUs: 1, Lanes: 1, Window: 50 * ms, Work: 1 << 30, RunLate: runLate, Urgent: 1})
		if err := s.Arrive(ms, &Job{Cost: both(Never, 9*ms), Within: 10 * ms}); err != nil {
			t.Fatal(err)
		}
		want := 2 * ms // the last start
		if runLate {
			want = 11 * ms
		}
		if got, wake := s.Next(ms, GPU, nil); len(got) != 0 || wake != want {
			t.Errorf("jobs may be late: %t: %d begin, wake at %v, want %v", runLate, len(got), wake, want)
		}
	}
}

// A run that takes longer than predicted is assumed to take another eighth of its time.
func TestOverdueRun(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 1})
	arrive(t, s, 100*ms, 4*ms, Never)
	next(s, 100*ms, CPU)
	for now, want := range map[time.Duration]time.Duration{101 * ms: 3 * ms, 104*ms - 1: 1, 104 * ms: ms / 2, 116 * ms: 2 * ms} {
		if got := s.Wait(now, CPU); got != want {
			t.Errorf("at %v, the wait is %v, want %v", now, got, want)
		}
	}
}
