package sched

import (
	"errors"
	"testing"
	"time"
)

// Launches that each take as long as all of them together are expected to, if the runs before have shown it; launches that do not
// slow each other down, a single late one, and runs of unknown time change nothing.
func TestSharing(t *testing.T) {
	const lanes, launch, fixed = 4, 2 * ms, ms
	for name, c := range map[string]struct {
		takes, want time.Duration
		rounds      int
	}{
		"one after another": {fixed + lanes*launch, fixed + lanes*launch, 200},
		"independent":       {fixed + launch, fixed + launch, 200},
		"unknown":           {0, fixed + launch, 200},
		"stopped once":      {time.Second, fixed + launch, 1},
	} {
		var st station
		st.open(GPU, lanes, false)
		for range c.rounds {
			var servers []int32
			for range lanes {
				servers = append(servers, st.begin(0, launch, fixed, 1))
			}
			for _, server := range servers[1:] {
				st.end(server, 0)
			}
			st.end(servers[0], c.takes)
		}
		for range lanes - 1 {
			st.begin(0, launch, fixed, 1)
		}
		if got := st.takes(0, launch, fixed); got < c.want*98/100 || got > c.want*115/100 {
			t.Errorf("%s: beside others, a launch is predicted to take %v, want %v", name, got, c.want)
		}
	}
}

// A job that would end too late on the GPU goes to an idle CPU, unless CPUs feed the GPU: then it is shed.
func TestFeedingBeforeLateJobs(t *testing.T) {
	for _, feeding := range []bool{false, true} {
		s := newScheduler(t, Options{Policy: PolicyCost, CPUs: 2, Lanes: 1, Deadline: 10 * ms, Feeding: 20 * us})
		patient := func(gpu time.Duration) *Job {
			j := newBatched(Never, gpu, gpu)
			j.Within = Never
			return j
		}
		running := patient(9 * ms)
		if err := s.Arrive(0, running); err != nil || len(next(s, 0, GPU)) != 1 {
			t.Fatal(err)
		}
		if feeding {
			s.queues.places[CPU].setSpare(0)
		}
		late := newBatched(2*ms, 3*ms, ms)
		err := s.Arrive(0, late)
		var shed *Overload
		if feeding != errors.As(err, &shed) {
			t.Errorf("feeding %t: a job that would be late on the GPU: %v", feeding, err)
		}
		jobs := next(s, 0, CPU)
		if got := len(jobs) == 1 && jobs[0] == late; got == feeding {
			t.Errorf("feeding %t: %d jobs begin on the CPU", feeding, len(jobs))
		}
	}
}

// A job that has waited for long is not the one whose deadline limits a launch of many: it is shed.
func TestHurriedJobDoesNotLimitLaunch(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyCost, CPUs: 1, Lanes: 1, Deadline: 10 * ms})
	arrive := func(now, adds time.Duration) *Job {
		j := newBatched(Never, adds, adds)
		if err := s.Arrive(now, j); err != nil {
			t.Fatal(err)
		}
		return j
	}
	running := arrive(0, ms)
	if len(next(s, 0, GPU)) != 1 {
		t.Fatal("the lane is not busy")
	}
	hurried := arrive(0, 400*us)
	leader := arrive(2*ms, 3*ms) // urgent before the other, and has not waited for long
	const others, fit = 10, 4    // until the leader's deadline
	for range others {
		arrive(7*ms, 500*us)
	}
	s.Done(7*ms, GPU, []*Job{running}, ms)
	jobs := next(s, 7*ms, GPU)
	if len(jobs) != 1+fit || jobs[0] != leader {
		t.Errorf("a launch of %d jobs, want %d", len(jobs), 1+fit)
	}
	if expired := s.Expired(nil); len(expired) != 1 || expired[0] != hurried {
		t.Errorf("%d jobs were shed", len(expired))
	}
}
