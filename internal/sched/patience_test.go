package sched

import (
	"testing"
	"time"
)

// behind returns a scheduler with idle CPUs and one lane, which is busy from 0 on for the predicted time, and a job
// that waits for the lane.
func behind(t *testing.T, o Options, predicted time.Duration, j *Job) *Scheduler {
	t.Helper()
	o.CPUs, o.Lanes, o.Feeding = 4, 1, 20*us
	s := newScheduler(t, o)
	if err := s.Arrive(0, newBatched(Never, predicted, 0)); err != nil {
		t.Fatal(err)
	}
	if got := len(next(s, 0, GPU)); got != 1 {
		t.Fatal("the lane is idle")
	}
	cpu := j.Cost[CPU]
	j.Cost[CPU] = Never
	if err := s.Arrive(0, j); err != nil {
		t.Fatal(err)
	}
	j.Cost[CPU] = cpu
	return s
}

// A patient job begins on an idle CPU before its deadline if the launch that it waits for takes far longer than
// predicted.
func TestPatienceEndsInTime(t *testing.T) {
	for _, c := range []struct{ predicted, patience, within time.Duration }{
		{ms, 2 * ms, 10 * ms},
		{ms, 2 * ms, 4 * ms},
		{ms, 20 * ms, 10 * ms},
		{ms, 20 * ms, Never},
		{5 * ms, 20 * ms, 6 * ms},
	} {
		j := newBatched(500*us, 100*us, 50*us)
		j.Within = c.within
		s := behind(t, Options{Patience: c.patience}, c.predicted, j)
		for now := time.Duration(0); j.entry.state == waiting; {
			jobs, wake := s.Next(now, CPU, nil)
			if len(jobs) == 0 && (wake <= now || wake > 30*ms) {
				t.Fatalf("%+v: at %v no CPU takes the job; they look again at %v", c, now, wake)
			}
			if len(jobs) > 0 && now == 0 {
				t.Errorf("%+v: the job does not wait", c)
			}
			now = wake
		}
		if len(s.Expired(nil)) > 0 || j.Place != CPU {
			t.Errorf("%+v: the job is shed, or at the %s", c, j.Place)
		}
	}
}

func TestPatientUntil(t *testing.T) {
	const now = 100 * us
	for name, c := range map[string]struct {
		predicted, end, deadline time.Duration
		slowdown                 float64
		want                     time.Duration
	}{
		"patience":              {10 * ms, ms, Never, 1, now + 2*ms},
		"ends at the patience":  {10 * ms, now + 2*ms, Never, 1, now + 2*ms},
		"ends later":            {10 * ms, now + 2*ms + 1, Never, 1, now},
		"the prediction":        {ms, ms, Never, 1, ms},
		"a slow GPU":            {ms, ms, Never, 1.5, 1500 * us},
		"a fast GPU":            {ms, ms, Never, 0.5, ms},
		"past the prediction":   {now, ms, Never, 1, now},
		"a deadline":            {10 * ms, ms, ms + 500*us, 1, ms - soonest},
		"ends at the deadline":  {10 * ms, ms, ms, 1, 500*us - soonest},
		"ends after it":         {10 * ms, ms + 1, ms, 1, now},
		"no time left on a CPU": {10 * ms, 400 * us, 600 * us, 1, now},
	} {
		s := behind(t, Options{Patience: 2 * ms}, c.predicted, newBatched(Never, 100*us, 50*us))
		s.queues.places[GPU].slowdown = c.slowdown
		j := newBatched(500*us, 100*us, 50*us)
		j.Deadline = c.deadline
		if got := s.patientUntil(now, j, c.end); got != c.want {
			t.Errorf("%s: patient until %v, want %v", name, got, c.want)
		}
	}
}

// Launches are overdue when the last one is, and none is while a lane is idle.
func TestOverdueAt(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: -1, Lanes: 2, MaxBatch: 1})
	st := &s.queues.places[GPU]
	arrive(t, s, 0, Never, 3*ms)
	next(s, 0, GPU)
	if got := st.overdueAt(); got != Never {
		t.Errorf("with an idle lane, overdue at %v", got)
	}
	arrive(t, s, ms, Never, ms)
	next(s, ms, GPU)
	if got := st.overdueAt(); got != 3*ms {
		t.Errorf("overdue at %v, want %v", got, 3*ms)
	}
}
