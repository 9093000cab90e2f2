package sched

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

func TestOptionsDefaults(t *testing.T) {
	for policy, window := range map[Policy]time.Duration{PolicyCost: 0, PolicyBatch: DefaultGather} {
		want := Options{
			Policy: policy, CPUs: runtime.GOMAXPROCS(0), MaxQueue: min(DefaultDepth*runtime.GOMAXPROCS(0), DefaultMaxQueue),
			Deadline: Never, Window: window, MaxBatch: DefaultMaxBatch, Threshold: DefaultThreshold, Work: DefaultWork,
			Stretch: DefaultStretch, Urgent: DefaultUrgent,
		}
		if got := newScheduler(t, Options{Policy: policy}).Options(); got != want {
			t.Errorf("%s: %+v, want %+v", policy, got, want)
		}
	}
	for _, o := range []Options{{CPUs: maxServers}, {CPUs: 1, Lanes: maxServers}} {
		if _, err := New(o); err != nil {
			t.Errorf("most servers: %v", err)
		}
	}
	for _, o := range []Options{{CPUs: maxServers + 1}, {CPUs: 1, Lanes: maxServers + 1}} {
		if _, err := New(o); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%d CPUs and %d lanes: %v", o.CPUs, o.Lanes, err)
		}
	}
}

// An arriving job waits for the jobs that add no more than it does, by classes of a factor of
// two; for all if they are served in order.
func TestWaitByClass(t *testing.T) {
	for _, c := range []struct {
		stretch float64
		adds    time.Duration
		want    time.Duration
	}{
		{4, 1 << 20, 10*ms + 1<<20},
		{4, 1<<20 - 1, 10 * ms},
		{4, 1<<22 - 1, 10*ms + 1<<20},
		{4, 1 << 22, 10*ms + 1<<20 + 1<<22},
		{-1, 1, 10*ms + 1<<20 + 1<<22},
	} {
		for p := range Place(NumPlaces) {
			s := newScheduler(t, Options{Policy: []Policy{PolicyCPU, PolicyGPU}[p], CPUs: 1, Lanes: 1, Stretch: c.stretch})
			for i, d := range []time.Duration{10 * ms, 1 << 20, 1 << 22} {
				cost := both(Never, Never)
				cost[p] = d
				arrive(t, s, 0, cost[CPU], cost[GPU])
				if i == 0 {
					next(s, 0, p)
				}
			}
			if got := s.queues.places[p].wait(0, c.adds); got != c.want {
				t.Errorf("stretch %v: a job that adds %v waits %v for the %s, want %v", c.stretch, c.adds, got, p, c.want)
			}
		}
	}
}

// A server that is released has no load, and a run without a predicted time does not change
// the predictions.
func TestStationEnd(t *testing.T) {
	var st station
	st.open(CPU, 1, false)
	for _, c := range []struct {
		predicted, took time.Duration
		slowdown        float64
	}{{ms, 0, 1}, {0, ms, 1}, {ms, 2 * ms, 1 + 1.0/64}} {
		st.slowdown = 1
		st.end(st.begin(5*ms, c.predicted, 0, 1), c.took)
		if got := st.load(5 * ms); got != (load{}) || st.slowdown != c.slowdown || !st.free.Load() {
			t.Errorf("predicted %v, took %v: load %v, slowdown %v, want none, %v", c.predicted, c.took, got, st.slowdown, c.slowdown)
		}
	}
}

// The statistics of waits cover each start of a job, from the last time that it was queued.
func TestWaitStatistics(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 1, Stretch: -1})
	now := 100 * ms
	run := arrive(t, s, now, ms, Never)
	next(s, now, CPU)
	var want PlaceStats
	want.Waits[0] = 1
	for _, c := range []struct {
		wait  time.Duration
		class int
	}{{5 * us, 3}, {ms, 10}, {3 * us, 2}, {7 * us, 3}} {
		arrived := now
		waiting := arrive(t, s, arrived, ms, Never)
		now += c.wait
		s.Done(now, CPU, []*Job{run}, 0)
		if next(s, now, CPU); waiting.Queued != c.wait {
			t.Errorf("queued for %v, want %v", waiting.Queued, c.wait)
		}
		run = waiting
		want.QueueTime += c.wait
		want.LongestWait = max(want.LongestWait, c.wait)
		want.Waits[c.class]++
	}
	got := s.Stats(now).Places[CPU]
	if got.QueueTime != want.QueueTime || got.LongestWait != want.LongestWait || got.Waits != want.Waits {
		t.Errorf("waits of %v, at most %v, %v; want %v, %v, %v", got.QueueTime, got.LongestWait, got.Waits, want.QueueTime, want.LongestWait, want.Waits)
	}
}

// The mean time between arrivals at the GPU moves by an eighth; a gap counts as at most 16
// windows.
func TestGapMovesByAnEighth(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1, Window: ms, MaxQueue: -1})
	want := 16 * ms
	last := time.Duration(0)
	for i, now := range []time.Duration{0, 4 * ms, 4 * ms, 30 * ms, 31 * ms} {
		arrive(t, s, now, Never, ms)
		want += (min(now-last, 16*ms) - want) / 8
		last = now
		if s.gap != want {
			t.Fatalf("after arrival %d: %v, want %v", i, s.gap, want)
		}
	}
}

// If arrivals are frequent, an idle GPU waits for the window, an idle CPU does not.
func TestGatheringIsOfTheGPU(t *testing.T) {
	s := newScheduler(t, Options{CPUs: 1, Lanes: 1, Window: ms})
	arrive(t, s, 6*ms, us, Never)
	arrive(t, s, 6*ms, Never, us)
	for _, gap := range []time.Duration{ms - 1, ms} {
		s.gap = gap
		if got := s.gathering(6*ms, CPU); got != 6*ms {
			t.Errorf("arrivals every %v: the CPU waits until %v", gap, got)
		}
		want := 6 * ms
		if gap < ms {
			want += ms
		}
		if got := s.gathering(6*ms, GPU); got != want {
			t.Errorf("arrivals every %v: the GPU waits until %v, want %v", gap, got, want)
		}
	}
	if got := next(s, 6*ms, CPU); len(got) != 1 {
		t.Errorf("the idle CPU begins %d jobs", len(got))
	}
}

// A job that is used again is no longer a trial, and only trials delay the next one.
func TestTrialsAreOfOneArrival(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyCPU, CPUs: 1})
	j := &Job{Cost: both(2*ms, Never), Within: ms}
	run := func(now time.Duration) {
		t.Helper()
		if err := s.Arrive(now, j); err != nil {
			t.Fatal(err)
		}
		if got := next(s, now, CPU); len(got) != 1 {
			t.Fatalf("%d jobs begin", len(got))
		}
		if s.Done(now+time.Second, CPU, []*Job{j}, 0); j.entry.state != idle {
			t.Errorf("the job is in state %d after its end", j.entry.state)
		}
	}
	j.Within = Never
	run(0)
	j.Within = ms
	if run(time.Second); !j.entry.trial {
		t.Error("after another job, a late one is not tried")
	}
	j.Within = Never
	if run(2 * time.Second); j.entry.trial {
		t.Error("the job is still a trial")
	}
	j.Within = ms
	var late *Overload
	if err := s.Arrive(17*time.Second, j); !errors.As(err, &late) || late.Reason != TooLate {
		t.Errorf("15 s after a trial of 1 s: %v, want too late", err)
	}
	run(18 * time.Second)
}
