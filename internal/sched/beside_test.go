package sched

import (
	"testing"
	"time"
)

func newBatched(cpu, gpu, batched time.Duration) *Job {
	return &Job{Cost: [NumPlaces]time.Duration{CPU: cpu, GPU: gpu}, Batched: batched}
}

// A launch beside others needs Beside jobs for each of them, or a job that has waited, that runs alone, or that has
// a deadline.
func TestBeside(t *testing.T) {
	const beside = 4
	start := func() (*Scheduler, func(now time.Duration, n int), func(now time.Duration) int) {
		s, err := New(Options{Policy: PolicyGPU, CPUs: -1, Lanes: 3, MaxQueue: -1, Beside: beside})
		if err != nil {
			t.Fatal(err)
		}
		arrive := func(now time.Duration, n int) {
			for range n {
				if err := s.Arrive(now, newBatched(Never, 2*us, us)); err != nil {
					t.Fatal(err)
				}
			}
		}
		next := func(now time.Duration) int {
			jobs, wake := s.Next(now, GPU, nil)
			if len(jobs) == 0 && s.Queued() > 0 && wake <= now {
				t.Errorf("at %v nothing begins, and it is to be asked again at %v", now, wake)
			}
			return len(jobs)
		}
		arrive(0, 1)
		if n := next(0); n != 1 {
			t.Fatalf("%d jobs at idle lanes, want 1", n)
		}
		return s, arrive, next
	}
	s, arrive, next := start()
	arrive(us, beside-1)
	if n := next(us); n != 0 {
		t.Errorf("%d of %d jobs begin beside a lane, want none", n, beside-1)
	}
	if _, wake := s.Next(us, GPU, nil); wake != us+BesideWait {
		t.Errorf("it is to be asked again at %v, want %v", wake, us+BesideWait)
	}
	arrive(2*us, 1)
	if n := next(2 * us); n != beside {
		t.Errorf("%d jobs begin beside a lane, want %d", n, beside)
	}
	arrive(3*us, 2*beside-1)
	if n := next(3 * us); n != 0 {
		t.Errorf("%d jobs begin beside two lanes, want none", n)
	}
	if n := next(3*us + BesideWait); n != 2*beside-1 {
		t.Errorf("%d jobs begin after they have waited, want all", n)
	}

	s, arrive, next = start()
	alone := newBatched(Never, 2*us, us)
	alone.Alone = true
	if err := s.Arrive(us, alone); err != nil {
		t.Fatal(err)
	}
	if n := next(us); n != 1 {
		t.Errorf("%d jobs, want the one that runs alone", n)
	}
	arrive(2*us, 1)
	s.Done(3*us, GPU, []*Job{alone}, us)
	if n := next(3 * us); n != 0 {
		t.Errorf("%d jobs begin beside a lane, want none", n)
	}
	urgent := newBatched(Never, 2*us, us)
	urgent.Within = 100 * us
	if err := s.Arrive(3*us, urgent); err != nil {
		t.Fatal(err)
	}
	if _, wake := s.Next(3*us, GPU, nil); wake != 53*us {
		t.Errorf("with a job that is urgent at 53 µs, it is to be asked again at %v", wake)
	}
	if n := next(53 * us); n != 2 { // half of its time has passed
		t.Errorf("%d jobs begin with an urgent one, want both", n)
	}
}

// No job waits beside a busy lane for longer than BesideWait, though others that arrive later precede it, and none
// until it is late.
func TestBesideWake(t *testing.T) {
	type arrival struct{ at, gpu, within time.Duration }
	for name, c := range map[string]struct {
		urgent   float64
		arrivals []arrival
		want     time.Duration
	}{
		"one job":                   {0.5, []arrival{{us, 100 * us, Never}}, us + BesideWait},
		"smaller jobs arrive later": {0.5, []arrival{{us, 100 * us, Never}, {50 * us, us, Never}, {90 * us, us, Never}}, us + BesideWait},
		"urgent at half its time":   {0.5, []arrival{{us, 100 * us, 300 * us}}, 151 * us},
		"not urgent, but late":      {1, []arrival{{us, 100 * us, 300 * us}}, 201 * us},
		"a second one with less":    {0.5, []arrival{{us, us, Never}, {50 * us, 100 * us, 300 * us}}, 200 * us},
		"a long deadline":           {0.5, []arrival{{us, 100 * us, 10 * ms}}, us + BesideWait},
	} {
		s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: -1, Lanes: 2, MaxQueue: -1, Beside: 32, Urgent: c.urgent})
		arrive(t, s, 0, Never, 200*us)
		next(s, 0, GPU)
		now := time.Duration(0)
		for _, a := range c.arrivals {
			now = a.at
			j := newBatched(Never, a.gpu, a.gpu/2)
			j.Within = a.within
			if err := s.Arrive(now, j); err != nil {
				t.Fatal(err)
			}
		}
		jobs, wake := s.Next(now, GPU, nil)
		if len(jobs) > 0 || wake != c.want {
			t.Errorf("%s: %d jobs begin, asked again at %v, want %v", name, len(jobs), wake, c.want)
			continue
		}
		if jobs, _ := s.Next(wake, GPU, nil); len(jobs) != len(c.arrivals) || len(s.Expired(nil)) > 0 {
			t.Errorf("%s: %d jobs begin at %v, want all", name, len(jobs), wake)
		}
	}
}

// A pool does not begin a job at once beside a busy lane.
func TestBesideAtOnce(t *testing.T) {
	for _, beside := range []int{0, 2} {
		s, err := New(Options{Policy: PolicyGPU, CPUs: -1, Lanes: 2, Beside: beside})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []bool{true, beside == 0} {
			j := newBatched(Never, 2*us, us)
			if running, err := s.arrive(0, j, 0, true /* at once */); err != nil || running != want {
				t.Errorf("beside %d, job %d: running is %t, %v; want %t", beside, i, running, err, want)
			}
		}
	}
}

// Jobs wait for a busy GPU although a CPU would end them earlier, unless they take it hardly longer than feeding
// the GPU or would wait for too long.
func TestPatience(t *testing.T) {
	for name, c := range map[string]struct {
		busy, cpu time.Duration
		alone     bool
		want      Place
	}{
		"a busy GPU":              {ms, 300 * us, false, GPU},
		"an idle GPU":             {0, 300 * us, false, CPU},
		"a short job":             {ms, 20 * us, false, CPU},
		"a long wait":             {3 * ms, 300 * us, false, CPU},
		"a job that runs alone":   {ms, 300 * us, true, CPU},
		"a CPU that takes longer": {ms, 5 * ms, false, GPU},
	} {
		for _, steals := range []bool{false, true} {
			s, err := New(Options{CPUs: 1, Lanes: 1, MaxQueue: -1, Patience: 2 * ms, Feeding: 20 * us})
			if err != nil {
				t.Fatal(err)
			}
			if c.busy > 0 {
				if err := s.Arrive(0, newBatched(Never, c.busy, 0)); err != nil {
					t.Fatal(err)
				}
				if jobs, _ := s.Next(0, GPU, nil); len(jobs) != 1 {
					t.Fatal("the GPU is idle")
				}
			}
			j := newBatched(c.cpu, 400*us, 10*us)
			j.Alone = c.alone
			if steals { // it has chosen the GPU for another reason
				j.Cost[CPU] = Never
			}
			if err := s.Arrive(0, j); err != nil {
				t.Fatal(err)
			}
			j.Cost[CPU] = c.cpu
			if steals && c.busy == 0 {
				continue // an idle GPU leaves nothing to steal
			}
			jobs, wake := s.Next(0, CPU, nil)
			if onCPU := len(jobs) == 1; onCPU != (c.want == CPU) {
				t.Errorf("%s, steals %t: on the CPU is %t, want the %s", name, steals, onCPU, c.want)
			}
			if steals && c.want == GPU && wake == Never {
				t.Errorf("%s: the CPU never looks again", name)
			}
		}
	}
}

// A patient job waits for the GPU, unless it cannot run there, or not in time.
func TestPatientJob(t *testing.T) {
	for _, c := range []struct {
		gpu, within time.Duration
		want        Place
	}{{20 * ms, Never, GPU}, {Never, Never, CPU}, {20 * ms, 10 * ms, CPU}} {
		s := newScheduler(t, Options{CPUs: 1, Lanes: 1})
		if err := s.Arrive(0, &Job{Cost: both(ms, c.gpu), Patient: true, Within: c.within}); err != nil {
			t.Fatal(err)
		}
		if got := len(next(s, 0, c.want)); got != 1 {
			t.Errorf("%v on the GPU, within %v: not at the %s", c.gpu, c.within, c.want)
		}
	}
}

func TestMaxLaunch(t *testing.T) {
	for most, want := range map[time.Duration]int{0: 8, 3 * ms: 3, us: 1} {
		s, err := New(Options{Policy: PolicyGPU, CPUs: -1, Lanes: 1, MaxQueue: -1, MaxLaunch: most})
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			if err := s.Arrive(0, newBatched(Never, ms, ms)); err != nil {
				t.Fatal(err)
			}
		}
		if jobs, _ := s.Next(0, GPU, nil); len(jobs) != want {
			t.Errorf("%d jobs of %v in a launch of at most %v, want %d", len(jobs), ms, most, want)
		}
	}
	for _, o := range []Options{{Beside: -1}, {MaxLaunch: -1}, {Patience: -1}, {Feeding: -1}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
