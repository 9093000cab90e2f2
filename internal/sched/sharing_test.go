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
