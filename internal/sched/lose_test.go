package sched

import (
	"slices"
	"testing"
	"time"
)

// The waiting jobs of a lost place wait for the other one, or have ended.
func TestLoseMovesWaitingJobs(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
	run := []*Job{arrive(t, s, 0, Never, 10*ms)}
	next(s, 0, GPU)
	only, either := arrive(t, s, ms, Never, ms), arrive(t, s, ms, 2*ms, ms)
	if ended := s.Lose(3*ms, GPU, nil); !slices.Equal(ended, []*Job{only}) {
		t.Errorf("%d jobs ended, want the one of the GPU", len(ended))
	}
	if only.Queued != 2*ms || s.Cancel(3*ms, only) {
		t.Errorf("the job that ended has waited %v, want 2 ms, or still waits", only.Queued)
	}
	if got := next(s, 4*ms, CPU); !slices.Equal(got, []*Job{either}) || either.Queued != 3*ms || either.can(GPU) {
		t.Errorf("%d jobs begin on the CPU, after %v, want one after 3 ms", len(got), either.Queued)
	}
	s.Done(5*ms, GPU, run, 0)
	if st := s.Stats(5 * ms); st.Ended != 2 || st.Failed != 0 || !st.Places[GPU].Lost {
		t.Errorf("%+v", st)
	}
}

// A job of the third group waits for either place. If the faster one is lost, it waits for
// the other alone; if the other is lost, it stays, and may run there later.
func TestLoseInThirdGroup(t *testing.T) {
	for _, lost := range []Place{CPU, GPU} {
		s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1})
		busy := [NumPlaces]*Job{arrive(t, s, 0, 9*ms, Never), arrive(t, s, 0, Never, 9*ms)}
		for p := range busy {
			next(s, 0, Place(p))
		}
		j := arrive(t, s, ms, 10*ms, 11*ms)
		if j.entry.group != open || j.entry.aimed != CPU {
			t.Fatalf("the job is in group %d of the %s", j.entry.group, j.entry.aimed)
		}
		if ended := s.Lose(2*ms, lost, nil); len(ended) != 0 {
			t.Errorf("the %s is lost: %d jobs ended", lost, len(ended))
		}
		stays := lost == GPU
		if st := s.Stats(2 * ms); (st.Open == 1) != stays || (st.Places[GPU].Queued == 0) != stays {
			t.Errorf("the %s is lost: %d jobs wait for either place, %d for the GPU", lost, st.Open, st.Places[GPU].Queued)
		}
		s.Regain(lost)
		s.Done(3*ms, lost, []*Job{busy[lost]}, 0)
		if got := len(next(s, 3*ms, lost)) == 1; got != stays {
			t.Errorf("the %s was lost: the job begins there: %t, want %t", lost, got, stays)
		}
	}
}

// A job whose run was aborted by another job's panic runs nowhere if its place is lost.
func TestRerunNowhere(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
	arrive(t, s, 0, Never, ms)
	arrive(t, s, 0, Never, ms)
	jobs := next(s, 0, GPU)
	s.Lose(0, GPU, nil)
	s.Done(ms, GPU, jobs, 0)
	if len(jobs) != 2 || s.rerun(ms, GPU, jobs[1]) || s.Queued() != 0 {
		t.Errorf("a job of a batch of %d waits for a place that is lost", len(jobs))
	}
	if st := s.Stats(ms); st.Ended != 2 || st.Failed != 1 {
		t.Errorf("%+v", st)
	}
}

// Every way out of the queue adds the wait to Queued and frees the job; every counter
// counts its jobs once.
func TestCountsOfLeaving(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyRatio, CPUs: 1, Lanes: 1, MaxBatch: 1})
	gpu := []*Job{arrive(t, s, 0, Never, 10*ms)}
	next(s, 0, GPU)
	wait := func(now time.Duration) *Job {
		j := &Job{Cost: both(Never, 10*ms), Within: 30 * ms}
		if err := s.Arrive(now, j); err != nil {
			t.Fatal(err)
		}
		return j
	}
	left := func(how string, now time.Duration, j *Job, want time.Duration) {
		t.Helper()
		if j.Queued != want || s.Cancel(now, j) || s.Expire(now, j) {
			t.Errorf("%s: the job has waited %v, want %v, or still waits", how, j.Queued, want)
		}
	}
	j := wait(ms)
	if !s.Cancel(4*ms, j) {
		t.Error("a waiting job is not cancelled")
	}
	left("cancelled", 4*ms, j, 3*ms)
	j = wait(5 * ms)
	if !s.Expire(26*ms, j) {
		t.Error("a late job does not expire")
	}
	left("expired", 26*ms, j, 21*ms)
	j = &Job{Cost: both(Never, 10*ms), Within: 30 * ms}
	s.Done(27*ms, GPU, gpu, 0)
	gpu[0] = arrive(t, s, 27*ms, Never, 10*ms)
	next(s, 27*ms, GPU)
	if err := s.Arrive(28*ms, j); err != nil {
		t.Fatal(err)
	}
	s.Done(50*ms, GPU, gpu, 0)
	if got := next(s, 50*ms, GPU); len(got) != 0 || !slices.Equal(s.Expired(nil), []*Job{j}) {
		t.Error("a job that is too late for its server does not expire")
	}
	left("too late for its server", 50*ms, j, 22*ms)
	gpu[0] = arrive(t, s, 50*ms, ms, ms)
	next(s, 50*ms, GPU)
	if err := s.Switch(51*ms, gpu[0], CPU); err != nil {
		t.Error(err)
	}
	next(s, 52*ms, CPU)
	left("moved", 52*ms, gpu[0], ms)
	if nowhere := s.Fail(53*ms, CPU, gpu, nil); len(nowhere) != 0 {
		t.Error("a job that failed cannot run at the other place")
	}
	next(s, 55*ms, GPU)
	left("failed", 55*ms, gpu[0], 3*ms)
	s.Done(56*ms, GPU, gpu, 0)
	want := Stats{Arrived: 6, Ended: 3, Cancelled: 1, Moved: 1, Failed: 1}
	want.Shed[Expired] = 2
	st := s.Stats(56 * ms)
	st.Places, st.Thresholds = want.Places, want.Thresholds
	if st != want {
		t.Errorf("%+v, want %+v", st, want)
	}
}
