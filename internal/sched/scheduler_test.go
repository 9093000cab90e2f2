package sched

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

const us = time.Microsecond

func newScheduler(t testing.TB, o Options) *Scheduler {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func arrive(t *testing.T, s *Scheduler, now time.Duration, cpu, gpu time.Duration) *Job {
	t.Helper()
	j := &Job{Cost: both(cpu, gpu)}
	if err := s.Arrive(now, j); err != nil {
		t.Fatal(err)
	}
	return j
}

func next(s *Scheduler, now time.Duration, p Place) []*Job {
	jobs, _ := s.Next(now, p, nil)
	return jobs
}

func TestParsePolicy(t *testing.T) {
	for _, p := range Policies() {
		if got, err := ParsePolicy(string(p)); got != p || err != nil {
			t.Errorf("%s: %s, %v", p, got, err)
		}
	}
	if got, err := ParsePolicy(""); got != PolicyCost || err != nil {
		t.Errorf("the default is %s, %v", got, err)
	}
	if _, err := ParsePolicy("best"); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "cpu, gpu, ratio, query, batch, cost") {
		t.Errorf("best: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"policy":     {Policy: "best"},
		"no servers": {CPUs: -1},
		"lanes":      {Lanes: -1},
		"too many":   {CPUs: 1 << 20},
		"window":     {Window: -1},
		"deadline":   {Deadline: -1},
		"threshold":  {Threshold: -0.1},
		"batch":      {MaxBatch: -1},
		"urgent":     {Urgent: 1.1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(o); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := NewPool(o); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: pool: %v", name, err)
			}
		})
	}
}

// The paper's example: 20 % faster on the GPU.
func TestGroups(t *testing.T) {
	g := newGroups(0.2)
	for _, c := range []struct {
		cpu, gpu time.Duration
		place    Place
		group    group
	}{
		{120, 100, GPU, own},
		{119, 100, GPU, open},
		{100, 100, GPU, open},
		{100, 119, CPU, open},
		{100, 120, CPU, own},
	} {
		if p, gr := g.of(&Job{Cost: both(c.cpu, c.gpu)}); p != c.place || gr != c.group {
			t.Errorf("%d on the CPU and %d on the GPU: %s, group %d", c.cpu, c.gpu, p, gr)
		}
	}
}

func TestGroupsAdapt(t *testing.T) {
	g := newGroups(0.2)
	for range 3 {
		g.adapt(ms, 10*ms) // overloaded: fewer jobs belong to it alone
	}
	if got := g.at; got[GPU] <= 0.35 || got[CPU] >= 0.12 {
		t.Errorf("after a queue at the GPU: %v", got)
	}
	if p, gr := g.of(&Job{Cost: both(130, 100)}); p != GPU || gr != open {
		t.Errorf("a job 30 %% faster on the GPU is in group %d of the %s", gr, p)
	}
	for range 1000 {
		g.adapt(ms, 10*ms)
	}
	if got := g.at; got[GPU] != 0.2*adaptCeiling || got[CPU] != 0.2*adaptFloor {
		t.Errorf("at the end: %v", got)
	}
	for range 100 {
		g.adapt(0, 50*us) // a negligible queue
	}
	if got := g.at; got[GPU] > 0.201 || got[CPU] < 0.199 {
		t.Errorf("when the queues are alike again: %v", got)
	}
	for range 3 {
		g.adapt(10*ms, ms)
	}
	if got := g.at; got[CPU] <= 0.35 || got[GPU] >= 0.12 {
		t.Errorf("after a queue at the CPU: %v", got)
	}
}

// Jobs that are all slightly faster on the GPU arrive faster than it can run
// them.
func TestGroupsAdaptToLoad(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1, MaxBatch: 1, MaxQueue: -1})
	for i := range 200 {
		arrive(t, s, time.Duration(i)*us, 5*ms, 4*ms)
	}
	if got := s.Stats(0).Thresholds; got[GPU] <= got[CPU] || got[GPU] < 0.25 {
		t.Errorf("thresholds %v", got)
	}
	if s.Stats(0).Open == 0 {
		t.Error("no job is in the third group")
	}
}

// ding09's order: the place's own group, then the oldest of the third, then the
// other's.
func TestThirdGroupGoesToTheIdle(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1, MaxBatch: 1})
	gpu := []*Job{arrive(t, s, 0, 9*ms, ms), arrive(t, s, 0, 9*ms, 5*ms), arrive(t, s, 0, 9*ms, 5*ms), arrive(t, s, 0, 9*ms, 5*ms)}
	if got := next(s, 0, GPU); !slices.Equal(got, gpu[:1]) {
		t.Fatal("the GPU does not begin with its own")
	}
	third := []*Job{arrive(t, s, 1, 2*ms, 2*ms), arrive(t, s, 2, ms, ms)}
	cpu := arrive(t, s, 3, ms, 9*ms)
	want := []*Job{cpu, third[0], third[1]}
	for i, j := range want {
		if got := next(s, 4, CPU); len(got) != 1 || got[0] != j {
			t.Fatalf("run %d of the CPU is not job %d", i, j.entry.seq)
		}
		s.Done(4, CPU, []*Job{j}, 0)
	}
	// The last of the GPU's three ends there at 1 + 3*5 ms, here at 9.
	if got := next(s, 4, CPU); len(got) != 1 || !slices.Contains(gpu[1:], got[0]) || !got[0].Stolen {
		t.Fatal("the idle CPU does not steal")
	}
}

// A job of the third group joins a place when it has waited its stretch.
func TestThirdGroupIsPatient(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1, MaxBatch: 1, MaxQueue: -1, Stretch: 4})
	arrive(t, s, 0, ms, 9*ms)
	next(s, 0, CPU)
	arrive(t, s, 0, 9*ms, ms)
	next(s, 0, GPU)
	third := arrive(t, s, 0, 3*ms, 3*ms)
	for now := ms; ; now += ms {
		if now > 20*ms {
			t.Fatal("it waits for ever")
		}
		for _, p := range []Place{CPU, GPU} {
			for _, r := range s.queues.places[p].runs {
				if r.jobs == 0 {
					t.Fatalf("the %s is idle at %v", p, now)
				}
			}
		}
		// Each place always has a smaller job of its own.
		arrive(t, s, now-us, ms, 9*ms)
		arrive(t, s, now-us, 9*ms, ms)
		for _, p := range []Place{CPU, GPU} {
			s.end1(now, p)
			if got := next(s, now, p); got[0] == third {
				if now < 12*ms {
					t.Errorf("it began at %v, before those that were the place's own", now)
				}
				return
			}
		}
	}
}

func (s *Scheduler) end1(now time.Duration, p Place) {
	st := &s.queues.places[p]
	for i := range st.runs {
		if st.runs[i].jobs > 0 {
			j := &Job{Place: p, entry: entry{state: running, server: int32(i)}}
			s.Done(now, p, []*Job{j}, 0)
		}
	}
}

func TestCostChooses(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 1, Lanes: 1})
	small := arrive(t, s, 0, 20*us, 40*us)
	if got := next(s, 0, CPU); !slices.Equal(got, []*Job{small}) {
		t.Error("a small job does not begin on the CPU")
	}
	large := arrive(t, s, 0, 3*ms, 100*us)
	if got := next(s, 0, GPU); !slices.Equal(got, []*Job{large}) {
		t.Error("a large job does not begin on the GPU")
	}
	// On the CPU it would end after 20 + 30 µs, on the GPU after 100 + 40.
	if j := arrive(t, s, 0, 30*us, 40*us); j.entry.aimed != CPU {
		t.Error("waits for the GPU, where it ends later")
	}
	// On the CPU after 50 + 200 µs, on the GPU after 100 + 40.
	if j := arrive(t, s, 0, 200*us, 40*us); j.entry.aimed != GPU {
		t.Error("waits for the CPU, where it ends later")
	}
	if got := s.Wait(0, CPU); got != 50*us {
		t.Errorf("the CPU's wait is %v, want 50 µs", got)
	}
	if got := s.Wait(10*us, GPU); got != 130*us {
		t.Errorf("the GPU's wait is %v, want 90 + 40 µs", got)
	}
}

func TestCostGoesElsewhereForDeadlines(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1, Deadline: 10 * ms})
	arrive(t, s, 0, Never, 6*ms)
	next(s, 0, GPU)
	if j := arrive(t, s, 0, 9*ms, 5*ms); j.entry.aimed != CPU || j.entry.group != own {
		t.Error("waits for the GPU, where it ends too late")
	}
}

func TestUrgentOnItsPlace(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyCost, CPUs: 1, Lanes: 1, MaxBatch: 1, Deadline: 100 * ms})
	arrive(t, s, 0, Never, 30*ms)
	next(s, 0, GPU)
	old := arrive(t, s, 0, Never, 20*ms)
	small := arrive(t, s, ms, Never, ms)
	s.end1(60*ms, GPU)
	if got := next(s, 60*ms, GPU); len(got) != 1 || got[0] != old {
		t.Errorf("a small job goes before one that has used half of its time: %v", got[0] == small)
	}
}

// A shed job is admitted after RetryAfter, and not long before.
func TestRetryAfter(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for range 300 {
		s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 1, Stretch: -1, MaxQueue: -1, Deadline: 20 * ms})
		var shed *Overload
		var last *Job
		for shed == nil {
			last = &Job{Cost: both(time.Duration(1+random.IntN(6000))*us, Never)}
			_ = errors.As(s.Arrive(0, last), &shed)
		}
		if shed.Reason != TooLate {
			t.Fatal(shed)
		}
		var run []*Job
		at := time.Duration(0)
		runUntil := func(now time.Duration) { // every job takes the predicted time
			for {
				if len(run) == 0 {
					if run = next(s, at, CPU); len(run) == 0 {
						return
					}
				}
				end := run[0].Began + run[0].Cost[CPU]
				if end > now {
					return
				}
				at = end
				s.Done(at, CPU, run, run[0].Cost[CPU])
				run = nil
			}
		}
		after := shed.RetryAfter
		if early := after - 2*ms; early > 0 {
			runUntil(early)
			if err := s.Arrive(early, last); !errors.As(err, &shed) {
				t.Fatalf("admitted 2 ms before %v: %v", after, err)
			}
		}
		runUntil(after + us)
		if err := s.Arrive(after+us, last); err != nil {
			t.Fatalf("shed again after %v: %v", after, err)
		}
	}
}

func TestSlowdown(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 1})
	now := time.Duration(0)
	for range 400 {
		j := arrive(t, s, now, ms, Never)
		next(s, now, CPU)
		now += 2 * ms
		s.Done(now, CPU, []*Job{j}, 2*ms)
	}
	arrive(t, s, now, ms, Never)
	next(s, now, CPU)
	if got := s.Wait(now, CPU); got < 19*ms/10 || got > 21*ms/10 {
		t.Errorf("the wait for a run of 1 ms that takes 2 is %v", got)
	}
}

func TestFillKeepsDeadlines(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: -1, Lanes: 1, Deadline: 10 * ms})
	var jobs []*Job
	for range 6 {
		j := &Job{Cost: both(Never, 4*ms), Batched: 3 * ms}
		if err := s.Arrive(0, j); err != nil {
			break
		}
		jobs = append(jobs, j)
	}
	if got := next(s, 0, GPU); len(got) != 3 || got[0].Batch != 3 { // 1 + 3*3 ms
		t.Errorf("a batch of %d of %d", len(got), len(jobs))
	}
}

// A job with less time than the leader joins no batch that ends too late for
// it.
func TestFillKeepsDeadlinesOfFollowers(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: -1, Lanes: 1, Stretch: -1})
	arrive(t, s, 0, Never, 30*ms)
	first := next(s, 0, GPU)
	leader := arrive(t, s, 0, Never, 60*ms)
	follower := &Job{Cost: both(Never, ms), Within: 100 * ms}
	if err := s.Arrive(0, follower); err != nil {
		t.Fatal(err)
	}
	s.Done(45*ms, GPU, first, 0) // late: with the leader, it would end at 106 ms
	if got := next(s, 45*ms, GPU); len(got) != 1 || got[0] != leader {
		t.Errorf("a batch of %d", len(got))
	}
}

func TestGatheringIsNotForLoners(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyBatch, CPUs: 1, Lanes: 1, Window: 50 * ms, Work: 1 << 30})
	arrive(t, s, 0, Never, ms)
	if got := next(s, 0, GPU); len(got) != 0 {
		t.Fatal("the first does not wait for others")
	}
	if err := s.Arrive(0, &Job{Cost: both(Never, ms), Alone: true}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := next(s, 0, GPU)
		if len(got) != 1 {
			t.Fatalf("%d jobs begin, want one", len(got))
		}
		s.Done(0, GPU, got, 0)
	}
}

// An idle lane that waits for others begins a job in time for its deadline, for
// a policy that always gathers and for one that gathers if arrivals are
// frequent.
func TestGatheringKeepsDeadlines(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyBatch, CPUs: 1, Lanes: 1, Window: 50 * ms, Work: 1 << 30})
	j := &Job{Cost: both(Never, 8*ms), Within: 10 * ms}
	if err := s.Arrive(0, j); err != nil {
		t.Fatal(err)
	}
	if got, wake := s.Next(0, GPU, nil); len(got) != 0 || wake > 2*ms {
		t.Errorf("%d jobs begin; wake at %v, want 2 ms at the latest", len(got), wake)
	}
	if got := next(s, 2*ms, GPU); len(got) != 1 || len(s.Expired(nil)) != 0 {
		t.Errorf("%d jobs begin when the last has to", len(got))
	}
}

// An idle lane stops gathering when a job is near its deadline, or it has
// enough jobs.
func TestGatheringEnds(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyBatch, CPUs: 1, Lanes: 1, Window: 50 * ms, Work: 1 << 30})
	arrive(t, s, 0, Never, ms)
	if err := s.Arrive(0, &Job{Cost: both(Never, ms), Within: 10 * ms}); err != nil {
		t.Fatal(err)
	}
	if got, wake := s.Next(0, GPU, nil); len(got) != 0 || wake != 5*ms {
		t.Errorf("%d jobs begin, wake at %v, want 5 ms", len(got), wake)
	}
	if got := next(s, 5*ms, GPU); len(got) != 2 {
		t.Errorf("%d jobs begin when one is urgent", len(got))
	}
	s = newScheduler(t, Options{Policy: PolicyBatch, CPUs: 1, Lanes: 1, Window: 50 * ms, Work: 1 << 30, MaxBatch: 2})
	for want := range 2 {
		if got := next(s, 0, GPU); len(got) != 0 {
			t.Errorf("%d jobs begin of %d", len(got), want)
		}
		arrive(t, s, 0, Never, ms)
	}
	if got := next(s, 0, GPU); len(got) != 2 {
		t.Errorf("%d jobs begin of a batch that is full", len(got))
	}
}

// A batch takes jobs of the CPU that then end sooner, but none that run alone.
func TestFillSteals(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 1, Lanes: 1, Stretch: -1})
	arrive(t, s, 0, 100*ms, Never)
	next(s, 0, CPU)
	arrive(t, s, 0, Never, time.Minute)
	first := next(s, 0, GPU)                            // ends long before its predicted end
	loner := &Job{Cost: both(20*ms, 2*ms), Alone: true} // gains more
	stolen := &Job{Cost: both(10*ms, 10*ms), Batched: 5 * ms}
	for _, j := range []*Job{stolen, loner} {
		if err := s.Arrive(0, j); err != nil || j.entry.aimed != CPU {
			t.Fatalf("aimed at the %s, %v", j.entry.aimed, err)
		}
	}
	leader := arrive(t, s, 0, Never, ms)
	s.Done(ms, GPU, first, 0)
	if got := next(s, ms, GPU); !slices.Equal(got, []*Job{leader, stolen}) || !stolen.Stolen {
		t.Errorf("a batch of %d, want the leader and one of the CPU's", len(got))
	}
}

// A batch takes a job of the third group if its addition does not exceed the
// job's CPU time.
func TestFillOfThirdGroup(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1})
	arrive(t, s, 0, 100*ms, Never)
	next(s, 0, CPU)
	arrive(t, s, 0, Never, 10*ms)
	first := next(s, 0, GPU)
	leader := arrive(t, s, 0, Never, ms)
	open := [2]*Job{{Cost: both(10*ms, 10*ms), Batched: 9 * ms}, {Cost: both(10*ms, 10*ms), Batched: 11 * ms}}
	for _, j := range open {
		if err := s.Arrive(0, j); err != nil {
			t.Fatal(err)
		}
	}
	s.Done(ms, GPU, first, 0)
	if got := next(s, ms, GPU); !slices.Equal(got, []*Job{leader, open[0]}) {
		t.Errorf("a batch of %d, want the leader and one of the third group", len(got))
	}
}

// A job that waits at an idle GPU is predicted to wait for the window, and a
// waiting job that runs alone counts with its full time.
func TestEndsAreOfWhatWaits(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 8, Lanes: 1, Window: ms})
	for i := range 100 { // one every 10 µs
		arrive(t, s, time.Duration(i)*10*us, 50*ms, 20*us)
	}
	s.Done(ms, GPU, next(s, 2*ms, GPU), 0)
	if j := arrive(t, s, 2*ms, 900*us, 20*us); j.entry.aimed != CPU {
		t.Error("a job of 900 µs on an idle CPU waits 1 ms for others at an idle GPU")
	}
	s = newScheduler(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
	arrive(t, s, 0, Never, ms)
	next(s, 0, GPU)
	if err := s.Arrive(0, &Job{Cost: both(Never, 10*ms), Batched: ms, Alone: true}); err != nil {
		t.Fatal(err)
	}
	if w := s.Wait(0, GPU); w != 11*ms {
		t.Errorf("the wait behind a job of 10 ms that runs by itself is %v, want 11 ms", w)
	}
}

func TestQueuedOfLostPlace(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
	arrive(t, s, 0, Never, 10*ms)
	next(s, 0, GPU)
	j := arrive(t, s, 0, ms, ms)
	s.Lose(5*ms, GPU, nil)
	if got := next(s, 7*ms, CPU); len(got) != 1 || got[0] != j || j.Queued != 7*ms {
		t.Errorf("%d begin, waited %v, want one, 7 ms", len(got), j.Queued)
	}
}

// A full queue does not reject a job that finds an idle server; in the third
// group, at either place.
func TestFullQueueAndIdleServer(t *testing.T) {
	for _, policy := range []Policy{PolicyQuery, PolicyCost} {
		s := newScheduler(t, Options{Policy: policy, CPUs: 1, Lanes: 1, MaxQueue: 1})
		for range 2 { // one runs, one waits
			if err := s.Arrive(0, &Job{Cost: both(Never, 10*ms)}); err != nil {
				t.Fatal(err)
			}
			next(s, 0, GPU)
		}
		if s.Queued() != 1 {
			t.Fatalf("%d jobs wait", s.Queued())
		}
		if err := s.Arrive(0, &Job{Cost: both(11*ms, 10*ms)}); err != nil {
			t.Errorf("%s: with an idle CPU: %v", policy, err)
		}
		if got := next(s, 0, CPU); len(got) != 1 {
			t.Errorf("%s: the CPU begins %d jobs", policy, len(got))
		}
		var full *Overload
		if err := s.Arrive(0, &Job{Cost: both(11*ms, 10*ms)}); !errors.As(err, &full) || full.Reason != QueueFull {
			t.Errorf("%s: with none idle: %v, want a full queue", policy, err)
		}
	}
}

// An example: two servers busy for 4 and 8 ms, and 6 ms of waiting work.
func TestWaitOfServers(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 2, Stretch: -1})
	if got := s.Wait(0, CPU); got != 0 {
		t.Errorf("idle: %v", got)
	}
	arrive(t, s, 0, 4*ms, Never)
	arrive(t, s, 0, 8*ms, Never)
	next(s, 0, CPU)
	next(s, 0, CPU)
	if got := s.Wait(0, CPU); got != 4*ms {
		t.Errorf("busy: %v, want 4 ms", got)
	}
	arrive(t, s, 0, 6*ms, Never)
	if got := s.Wait(0, CPU); got != 9*ms {
		t.Errorf("with a queue: %v, want (4 + 8 + 6)/2 ms", got)
	}
	if got := s.Wait(ms, CPU); got != 8*ms {
		t.Errorf("a millisecond later: %v, want (3 + 7 + 6)/2 ms", got)
	}
	// The first has taken four times the predicted time.
	if got := s.Wait(16*ms, CPU); got != 5*ms {
		t.Errorf("overdue: %v, want (2 + 2 + 6)/2 ms", got)
	}
	if got := s.Wait(0, GPU); got != Never {
		t.Errorf("of a place without servers: %v", got)
	}
}

// Jobs that run although they will miss their deadline do not overtake earlier
// ones.
func TestHopelessDoNotOvertake(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 1, RunLate: true, Urgent: 1})
	first := arrive(t, s, 0, us, Never)
	j := &Job{Cost: both(100*ms, Never), Within: 10 * ms}
	if err := s.Arrive(10*us, j); err != nil {
		t.Fatal(err)
	}
	if got := next(s, 20*us, CPU); got[0] != first {
		t.Error("a job that is too late goes before one that came earlier")
	}
}

func TestCostCountsTheWindow(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 8, Lanes: 1, Window: ms})
	for i := range 100 { // one every 10 µs, for the GPU
		now := time.Duration(i) * 10 * us
		arrive(t, s, now, 50*ms, 20*us)
		if jobs := next(s, now, GPU); jobs != nil {
			s.Done(now, GPU, jobs, 0)
		}
	}
	if j := arrive(t, s, ms, 100*us, 20*us); j.entry.aimed != CPU {
		t.Error("a job of 100 µs on an idle CPU waits up to 1 ms for others at the GPU")
	}
	if j := arrive(t, s, ms, 2*ms, 20*us); j.entry.aimed != GPU {
		t.Error("a job of 2 ms does not wait for others at the GPU")
	}
}

// Predicted waits include jobs that wait for either place.
func TestThirdGroupCountsInWaits(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1, MaxBatch: 1})
	arrive(t, s, 0, 10*ms, 90*ms)
	next(s, 0, CPU)
	arrive(t, s, 0, 90*ms, 10*ms)
	next(s, 0, GPU)
	var third []*Job
	for range 20 {
		third = append(third, arrive(t, s, 0, 10*ms, 10*ms))
	}
	for _, p := range []Place{CPU, GPU} {
		if w := s.Wait(0, p); w < 90*ms || w > 130*ms {
			t.Errorf("the wait for the %s is %v behind 20 jobs of 10 ms on two processors: want 110 ms", p, w)
		}
	}
	var overload *Overload
	if err := s.Arrive(0, &Job{Cost: both(10*ms, 10*ms), Within: 50 * ms}); !errors.As(err, &overload) || overload.Reason != TooLate {
		t.Errorf("a job that has half of the time it needs: %v", err)
	}
	for _, j := range third {
		if !s.Cancel(0, j) {
			t.Fatal("a job that waits is not cancelled")
		}
	}
	for _, p := range []Place{CPU, GPU} {
		if w := s.Wait(0, p); w != 10*ms {
			t.Errorf("the wait for the %s is %v behind nothing but what runs: want 10 ms", p, w)
		}
	}
}

// A job that is too late for one place begins at the other, which is idle and
// was asked before.
func TestPassedOverWakesTheOther(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 1, Lanes: 1, MaxBatch: 1})
	busy := arrive(t, s, 0, Never, ms)
	next(s, 0, GPU)
	// More jobs for the GPU only than an idle CPU considers, then one for both.
	only := make([]*Job, stealScan)
	for i := range only {
		only[i] = &Job{Cost: both(Never, ms), Within: 40 * ms}
		if err := s.Arrive(0, only[i]); err != nil {
			t.Fatal(err)
		}
	}
	other := arrive(t, s, 0, 200*ms, Never)
	next(s, 0, CPU)
	j := &Job{Cost: both(10*ms, 30*ms), Within: 75 * ms}
	if err := s.Arrive(0, j); err != nil {
		t.Fatal(err)
	}
	if j.entry.aimed != GPU {
		t.Fatal("the job does not wait for the GPU")
	}
	s.Done(20*ms, CPU, []*Job{other}, 0)
	now := 60 * ms // the GPU's run took far longer than predicted
	s.Done(now, GPU, []*Job{busy}, 0)
	for range 3 {
		wakes := false
		for _, p := range []Place{CPU, GPU} {
			for {
				jobs, wake := s.Next(now, p, nil)
				if len(jobs) == 0 {
					wakes = wakes || wake <= now
					break
				}
				if jobs[0] == j && p == CPU {
					return
				}
			}
		}
		if !wakes {
			t.Fatalf("the job waits for the %s, which is idle, and nobody is told to ask again", j.entry.aimed)
		}
	}
	t.Fatal("the job is not begun")
}

func TestNoPlaceIsNotCounted(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 1})
	if err := s.Arrive(0, &Job{Cost: both(Never, ms)}); !errors.Is(err, ErrNoPlace) {
		t.Fatal(err)
	}
	if st := s.Stats(0); st.Arrived != 0 {
		t.Errorf("%d arrived, and nothing of it waits, runs, ended or was shed", st.Arrived)
	}
}

// Jobs that are predicted to take too long are tried on an idle machine, or
// they would never be measured. Jobs with correct predictions cost the others
// little time.
func TestWrongPredictionsAreFoundOut(t *testing.T) {
	for _, c := range []struct {
		takes    time.Duration
		low, top int // jobs that run, of 1,000 in 10 s
	}{{2 * ms, 100, 350}, {40 * ms, 5, 20}} {
		s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 2, Deadline: 10 * ms})
		ran := 0
		var running *Job
		for now := time.Duration(0); now < 10*time.Second; now += 10 * ms {
			if running != nil && now >= running.Began+c.takes {
				s.Done(running.Began+c.takes, CPU, []*Job{running}, c.takes)
				running = nil
			}
			j := &Job{Cost: both(40*ms, Never)}
			if err := s.Arrive(now, j); err != nil {
				continue
			}
			if got := next(s, now, CPU); len(got) != 1 || got[0] != j || running != nil {
				t.Fatalf("at %v: a job that is tried does not begin at once, or not by itself", now)
			}
			running = j
			ran++
		}
		if ran < c.low || ran > c.top {
			t.Errorf("jobs of %v: %d of 1000 were run, want %d to %d", c.takes, ran, c.low, c.top)
		}
	}
	s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 1})
	if err := s.Arrive(0, &Job{Cost: both(time.Second, Never), Within: ms}); err == nil {
		t.Error("a job of 1 s is begun that has 1 ms")
	}
}

func TestQueueDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		o       Options
		waiting int
	}{
		"CPUs":               {Options{CPUs: 2}, 2 * DefaultDepth},
		"many CPUs":          {Options{CPUs: 64}, DefaultMaxQueue},
		"a lane":             {Options{CPUs: 2, Lanes: 1}, 2*DefaultDepth + DefaultMaxBatch},
		"a lane, one by one": {Options{CPUs: 2, Lanes: 1, MaxBatch: 1}, 3 * DefaultDepth},
		"a lane, and no CPU": {Options{CPUs: -1, Lanes: 1, MaxBatch: 1}, DefaultDepth},
		"deadlines":          {Options{CPUs: 2, Deadline: time.Hour}, 2 * DefaultDepth},
		"a given limit":      {Options{CPUs: 2, MaxQueue: 500}, 500},
		"no limit":           {Options{CPUs: 2, MaxQueue: -1}, 4000},
		"the smallest limit": {Options{CPUs: 2, MaxQueue: 1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, c.o)
			waiting := 0
			for waiting < 4000 {
				err := s.Arrive(0, &Job{Cost: both(ms, ms)})
				if o := (*Overload)(nil); errors.As(err, &o) && o.Reason == QueueFull {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				for p := range Place(NumPlaces) {
					s.Next(0, p, nil)
				}
				waiting = s.Queued()
			}
			if waiting != c.waiting {
				t.Errorf("%s: %d may wait, want %d", name, waiting, c.waiting)
			}
		})
	}
}

// A job that an idle GPU would run alone counts with its full time there, not its
// addition.
func TestStealByFullCost(t *testing.T) {
	// It ends on the CPU at 10 + 20 ms, on the GPU after gpu.
	try := func(t *testing.T, gpu, batched time.Duration, want bool) {
		t.Helper()
		s := newScheduler(t, Options{CPUs: 1, Lanes: 1})
		arrive(t, s, 0, Never, 200*ms)
		gpuJob := next(s, 0, GPU)
		arrive(t, s, 0, 10*ms, Never)
		next(s, 0, CPU)
		j := &Job{Cost: both(20*ms, gpu), Batched: batched}
		if err := s.Arrive(0, j); err != nil || j.entry.aimed != CPU {
			t.Fatalf("aimed at the %s, %v", j.entry.aimed, err)
		}
		s.Done(0, GPU, gpuJob, 0) // earlier than predicted
		if stolen := len(next(s, 0, GPU)) == 1; stolen != want {
			t.Errorf("stolen: %v, want %v", stolen, want)
		}
	}
	t.Run("gain", func(t *testing.T) { try(t, 29*ms, ms, true) })
	t.Run("gain only in a batch", func(t *testing.T) { try(t, 31*ms, ms, false) })
}

func TestExpireAtLastStart(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 1, Lanes: 1})
	arrive(t, s, 0, 5*ms, Never)
	next(s, 0, CPU)
	j := &Job{Cost: both(10*ms, Never), Within: 30 * ms}
	if err := s.Arrive(0, j); err != nil {
		t.Fatal(err)
	}
	const last = 20 * ms
	if s.Expire(last, j) {
		t.Error("shed at the last moment at which it can begin")
	}
	if !s.Expire(last+1, j) {
		t.Error("not shed after it")
	}
}
