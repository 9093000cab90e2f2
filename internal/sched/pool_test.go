package sched

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

type sleeper struct {
	takes   [NumPlaces]time.Duration
	batched time.Duration
	outcome func(at Place) error // nil: success
	ran     atomic.Int32         // successful runs
	at      Place
	watch   *watcher
}

type watcher struct {
	running, most [NumPlaces]atomic.Int32
}

func (w *watcher) enter(p Place) {
	if w == nil {
		return
	}
	n := w.running[p].Add(1)
	for {
		most := w.most[p].Load()
		if n <= most || w.most[p].CompareAndSwap(most, n) {
			return
		}
	}
}

func (w *watcher) leave(p Place) {
	if w != nil {
		w.running[p].Add(-1)
	}
}

func (s *sleeper) Run(_ context.Context, at Place) error {
	s.watch.enter(at)
	defer s.watch.leave(at)
	time.Sleep(s.takes[at])
	return s.done(at)
}

func (s *sleeper) done(at Place) error {
	if s.outcome != nil {
		if err := s.outcome(at); err != nil {
			return err
		}
	}
	s.at = at
	s.ran.Add(1)
	return nil
}

func (s *sleeper) RunBatch(ctx context.Context, all []Work, outcomes []error) {
	s.watch.enter(GPU)
	defer s.watch.leave(GPU)
	var total time.Duration
	for _, w := range all {
		total += w.(*sleeper).batched
	}
	time.Sleep(total)
	for i, w := range all {
		if outcomes[i] = w.(*sleeper).done(GPU); ctx.Err() != nil {
			outcomes[i] = ctx.Err()
		}
	}
}

func (s *sleeper) job() *Job {
	return &Job{Cost: s.takes, Batched: s.batched}
}

func both(cpu, gpu time.Duration) [NumPlaces]time.Duration {
	return [NumPlaces]time.Duration{cpu, gpu}
}

func newPool(t testing.TB, o Options) *Pool {
	t.Helper()
	p, err := NewPool(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func checkIdle(t *testing.T, p *Pool) {
	t.Helper()
	s := p.Stats()
	for place, at := range s.Places {
		if at.Running != 0 || at.Queued != 0 {
			t.Errorf("%s: %d run and %d wait at the end", Place(place), at.Running, at.Queued)
		}
	}
	if s.Open != 0 {
		t.Errorf("%d wait for either place at the end", s.Open)
	}
}

func TestPoolRunsEachOnce(t *testing.T) {
	for _, policy := range Policies() {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, Options{Policy: policy, CPUs: 3, Lanes: 2, MaxQueue: -1, Work: 50})
				random := rand.New(rand.NewPCG(1, 2))
				var watch watcher
				works := make([]*sleeper, 500)
				var group sync.WaitGroup
				for i := range works {
					w := &sleeper{takes: both(time.Duration(1+random.IntN(4000))*time.Microsecond, time.Duration(100+random.IntN(900))*time.Microsecond), watch: &watch}
					w.batched = w.takes[GPU] / 4
					works[i] = w
					time.Sleep(time.Duration(random.IntN(500)) * time.Microsecond)
					group.Go(func() {
						j := w.job()
						j.Work = 10
						if err := p.Do(t.Context(), j, w); err != nil {
							t.Error(err)
						}
						if j.Place != w.at || j.Batch < 1 || j.Queued < 0 {
							t.Errorf("job says %+v, work ran at %s", j, w.at)
						}
					})
				}
				group.Wait()
				for i, w := range works {
					if n := w.ran.Load(); n != 1 {
						t.Errorf("job %d ran %d times", i, n)
					}
				}
				if c, g := watch.most[CPU].Load(), watch.most[GPU].Load(); c > 3 || g > 2 || c+g == 0 {
					t.Errorf("%d CPUs and %d lanes ran at once", c, g)
				}
				s := p.Stats()
				if s.Ended != int64(len(works)) || s.Arrived != s.Ended {
					t.Errorf("%+v", s)
				}
				if used := s.Places[CPU].Jobs > 0; used != (policy == PolicyCPU || policy == PolicyQuery || policy == PolicyCost) {
					t.Errorf("%d jobs ran on the CPU", s.Places[CPU].Jobs)
				}
				checkIdle(t, p)
			})
		})
	}
}

// First come, first served on one CPU, and small jobs first.
func TestPoolOrder(t *testing.T) {
	for _, c := range []struct {
		stretch float64
		want    []int
	}{{-1, []int{0, 1, 2, 3, 4}}, {4, []int{0, 2, 4, 3, 1}}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1, Stretch: c.stretch})
			var order []int
			var group sync.WaitGroup
			for i, cost := range []time.Duration{10 * ms, 40 * ms, 1 * ms, 5 * ms, 2 * ms} {
				w := &sleeper{takes: both(cost, Never)}
				w.outcome = func(Place) error { order = append(order, i); return nil }
				group.Go(func() {
					if err := p.Do(t.Context(), w.job(), w); err != nil {
						t.Error(err)
					}
				})
				time.Sleep(ms)
			}
			group.Wait()
			if !slices.Equal(order, c.want) {
				t.Errorf("stretch %v: order %v, want %v", c.stretch, order, c.want)
			}
		})
	}
}

// A stream of small jobs delays a large one for its stretch at most.
func TestPoolDoesNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1, MaxQueue: -1})
		var group sync.WaitGroup
		large := &sleeper{takes: both(10*ms, Never)}
		for i := range 400 {
			if i == 50 {
				group.Go(func() {
					j := large.job()
					if err := p.Do(t.Context(), j, large); err != nil {
						t.Error(err)
					}
					// At most 50 ms of small jobs are queued when it arrives.
					if longest := 2 * DefaultStretch * 10 * ms; j.Queued > longest || j.Queued < 10*ms {
						t.Errorf("the large job waited for %v, want at most %v", j.Queued, longest)
					}
				})
			}
			small := &sleeper{takes: both(2*ms, Never)}
			group.Go(func() {
				if err := p.Do(t.Context(), small.job(), small); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(3 * ms / 2)
		}
		group.Wait()
	})
}

// A job near its deadline precedes all others, and a job that would miss it is
// shed.
func TestPoolDeadlineOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1, MaxQueue: -1})
		var order []string
		var group sync.WaitGroup
		do := func(name string, cost, within time.Duration, want bool) {
			w := &sleeper{takes: both(cost, Never)}
			w.outcome = func(Place) error { order = append(order, name); return nil }
			j := w.job()
			j.Within = within
			group.Go(func() {
				err := p.Do(t.Context(), j, w)
				var shed *Overload
				if errors.As(err, &shed) == want || want && err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if err != nil && (w.ran.Load() != 0 || shed.RetryAfter <= 0) {
					t.Errorf("%s was shed and ran, or %v", name, err)
				}
			})
			synctest.Wait()
		}
		do("first", 10*ms, Never, true)
		do("small", 1*ms, Never, true)
		do("near", 8*ms, 19*ms, true)
		do("hopeless", 5*ms, 3*ms, false)
		group.Wait()
		if want := []string{"first", "near", "small"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

func TestPoolExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1, Deadline: 20 * ms})
		long := &sleeper{takes: both(100*ms, Never)}
		var group sync.WaitGroup
		group.Go(func() {
			j := &Job{Cost: both(ms, Never)} // its predicted time
			if err := p.Do(t.Context(), j, long); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		w := &sleeper{takes: both(ms, Never)}
		err := p.Do(t.Context(), w.job(), w)
		var shed *Overload
		if !errors.As(err, &shed) || shed.Reason != Expired || w.ran.Load() != 0 {
			t.Errorf("%v, want expired", err)
		}
		group.Wait()
		checkIdle(t, p)
	})
}

// An idle CPU takes exactly the jobs of the GPU's queue that then end earlier.
func TestPoolSteals(t *testing.T) {
	for _, c := range []struct {
		cpu    time.Duration
		stolen bool
	}{{20 * ms, true}, {200 * ms, false}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1, MaxBatch: 1})
			var group sync.WaitGroup
			var stolen atomic.Int32
			for range 6 { // all belong to the GPU: it is 4 or 40 times faster
				w := &sleeper{takes: both(c.cpu, 5*ms)}
				group.Go(func() {
					j := w.job()
					if err := p.Do(t.Context(), j, w); err != nil {
						t.Error(err)
					}
					if j.Stolen {
						stolen.Add(1)
						if j.Place != CPU {
							t.Errorf("stolen by the %s", j.Place)
						}
					}
				})
				synctest.Wait()
			}
			group.Wait()
			if got := stolen.Load() > 0; got != c.stolen {
				t.Errorf("cost on CPU %v: stolen is %v, want %v", c.cpu, got, c.stolen)
			}
			if s := p.Stats(); s.Stolen != int64(stolen.Load()) {
				t.Errorf("%d stolen, want %d", s.Stolen, stolen.Load())
			}
		})
	}
}

func TestPoolCancelWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1})
		var group sync.WaitGroup
		long := &sleeper{takes: both(100*ms, Never)}
		group.Go(func() { _ = p.Do(t.Context(), long.job(), long) })
		synctest.Wait()
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		w := &sleeper{takes: both(ms, Never)}
		group.Go(func() {
			if err := p.Do(ctx, w.job(), w); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want cancelled", err)
			}
			if d := time.Since(start); d != 10*ms {
				t.Errorf("returned after %v", d)
			}
		})
		time.Sleep(10 * ms)
		cancel()
		group.Wait()
		if w.ran.Load() != 0 {
			t.Error("ran although it was cancelled")
		}
		if err := p.Do(ctx, w.job(), w); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that had ended: %v", err)
		}
		if s := p.Stats(); s.Cancelled != 1 {
			t.Errorf("%d cancelled", s.Cancelled)
		}
		checkIdle(t, p)
	})
}

// An idle server skips jobs hidden behind others; it sees them when one of
// these leaves.
func TestPoolLeavingLetsOthersBegin(t *testing.T) {
	for name, within := range map[string]time.Duration{"cancelled": Never, "expired": 30*ms - 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testLeavingLetsOthersBegin(t, within) })
		})
	}
}

// The job leaves after 20 ms: it is cancelled then if it has no deadline.
func testLeavingLetsOthersBegin(t *testing.T, within time.Duration) {
	p := newPool(t, Options{CPUs: 1, Lanes: 1, MaxBatch: 1, MaxQueue: -1, Stretch: -1})
	var group sync.WaitGroup
	do := func(ctx context.Context, j *Job, takes [NumPlaces]time.Duration, done func(error)) {
		w := &sleeper{takes: takes}
		group.Go(func() { done(p.Do(ctx, j, w)) })
		synctest.Wait()
	}
	ran := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	start := time.Now()
	do(t.Context(), &Job{Cost: both(time.Hour, Never)}, both(10*ms, Never), ran) // the CPU is free after 10 ms
	do(t.Context(), &Job{Cost: both(Never, 5*ms)}, both(Never, 100*ms), ran)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	do(ctx, &Job{Cost: both(Never, 10*ms), Within: within}, both(Never, 10*ms), func(err error) {
		var late *Overload
		if expired := errors.As(err, &late); expired != (within != Never) || !expired && !errors.Is(err, context.Canceled) {
			t.Errorf("%v, within %v", err, within)
		}
	})
	for range stealScan - 1 {
		do(t.Context(), &Job{Cost: both(Never, 10*ms)}, both(Never, 10*ms), ran)
	}
	do(t.Context(), &Job{Cost: both(6*ms, 5*ms)}, both(6*ms, 5*ms), func(err error) {
		if took := time.Since(start); err != nil || took != 26*ms {
			t.Errorf("it ended after %v (%v), want 6 ms after another left", took, err)
		}
	})
	if time.Sleep(20 * ms); within == Never {
		cancel()
	}
	group.Wait()
	checkIdle(t, p)
}

func TestPoolContextDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 5*ms)
		defer cancel()
		w := &sleeper{takes: both(400*ms, Never)}
		j := w.job()
		var shed *Overload
		if err := p.Do(ctx, j, w); !errors.As(err, &shed) || shed.Reason != TooLate {
			t.Errorf("%v, want too late", err)
		}
		if j.Within != 0 || j.Deadline-j.Arrived != 5*ms {
			t.Errorf("within %v, deadline after %v", j.Within, j.Deadline-j.Arrived)
		}
	})
}

func TestPoolBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1, MaxBatch: 8})
		var group sync.WaitGroup
		sizes := make([]int, 10)
		for i := range sizes {
			w := &sleeper{takes: both(Never, 4*ms), batched: ms}
			group.Go(func() {
				j := w.job()
				if err := p.Do(t.Context(), j, w); err != nil {
					t.Error(err)
				}
				sizes[i] = j.Batch
			})
			synctest.Wait()
		}
		group.Wait()
		if want := []int{1, 8, 8, 8, 8, 8, 8, 8, 8, 1}; !slices.Equal(sizes, want) {
			t.Errorf("batches %v, want %v", sizes, want)
		}
		if s := p.Stats().Places[GPU]; s.Runs != 3 || s.Batches != 1 || s.Jobs != 10 {
			t.Errorf("%+v", s)
		}
	})
}

// PolicyBatch starts at the computational threshold, or when the window ends.
func TestPoolGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyBatch, CPUs: 1, Lanes: 1, Work: 100, Window: 20 * ms})
		var group sync.WaitGroup
		do := func(work int64, batch int, queued time.Duration) {
			w := &sleeper{takes: both(ms, ms), batched: ms / 10}
			group.Go(func() {
				j := w.job()
				j.Work = work
				if err := p.Do(t.Context(), j, w); err != nil {
					t.Error(err)
				}
				if j.Batch != batch || j.Queued != queued {
					t.Errorf("work %d: in a batch of %d after %v, want %d after %v", work, j.Batch, j.Queued, batch, queued)
				}
			})
			synctest.Wait()
		}
		do(40, 3, 10*ms)
		time.Sleep(5 * ms)
		do(40, 3, 5*ms)
		time.Sleep(5 * ms)
		do(20, 3, 0) // the sum is 100: it starts
		group.Wait()
		do(99, 1, 20*ms)
		group.Wait()
		do(100, 1, 0)
		group.Wait()
	})
}

func TestPoolBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 2, MaxQueue: 3})
		var group sync.WaitGroup
		var shed, ran atomic.Int32
		for range 10 {
			w := &sleeper{takes: both(10*ms, Never)}
			group.Go(func() {
				err := p.Do(t.Context(), w.job(), w)
				var o *Overload
				switch {
				case err == nil:
					ran.Add(1)
				case errors.As(err, &o) && o.Reason == QueueFull && o.RetryAfter >= 5*ms && o.RetryAfter <= 30*ms:
					shed.Add(1)
				default:
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		group.Wait()
		if ran.Load() != 5 || shed.Load() != 5 {
			t.Errorf("%d ran and %d were shed, want 2 + 3 and 5", ran.Load(), shed.Load())
		}
	})
}

// At twice the capacity the excess is shed, the rest is served in time, and a
// second later there is no after-effect.
func TestPoolOverload(t *testing.T) {
	for _, policy := range []Policy{PolicyCPU, PolicyGPU, PolicyQuery, PolicyCost} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const deadline = 50 * ms
				p := newPool(t, Options{Policy: policy, CPUs: 2, Lanes: 1, MaxBatch: 4, Deadline: deadline})
				// 2 ms on a CPU, 1 ms on the GPU: capacities of 1000, 1000 and
				// 2000 per second.
				capacity := map[Policy]float64{PolicyCPU: 1000, PolicyGPU: 1000, PolicyQuery: 2000, PolicyCost: 2000}[policy]
				random := rand.New(rand.NewPCG(3, uint64(len(policy))))
				var ended, shed, late [4]atomic.Int64
				var group sync.WaitGroup
				start := time.Now()
				phase := func() int { return min(int(time.Since(start)/time.Second), 3) }
				for phase() < 3 {
					now := phase()
					rate := capacity * [4]float64{2, 0.7, 0.7, 0}[now]
					time.Sleep(time.Duration(random.ExpFloat64() / rate * float64(time.Second)))
					w := &sleeper{takes: both(2*ms, ms), batched: ms}
					group.Go(func() {
						came := time.Now()
						err := p.Do(t.Context(), w.job(), w)
						var o *Overload
						switch {
						case err == nil:
							ended[now].Add(1)
							if time.Since(came) > deadline {
								late[now].Add(1)
							}
						case errors.As(err, &o):
							shed[now].Add(1)
							if time.Since(came) > deadline {
								t.Errorf("shed after %v", time.Since(came))
							}
						default:
							t.Error(err)
						}
					})
				}
				group.Wait()
				if got := float64(ended[0].Load()); got < 0.9*capacity {
					t.Errorf("at twice its capacity the pool ended %v jobs in a second, want at least 90 %% of %v", got, capacity)
				}
				if shed[0].Load() == 0 || late[0].Load()+late[1].Load()+late[2].Load() > 0 {
					t.Errorf("%d shed under overload, late %v %v %v", shed[0].Load(), late[0].Load(), late[1].Load(), late[2].Load())
				}
				if n := shed[2].Load(); n > 0 || ended[2].Load() == 0 {
					t.Errorf("a second after the overload %d of %d are shed", n, n+ended[2].Load())
				}
				checkIdle(t, p)
			})
		})
	}
}

func TestPoolRace(t *testing.T) {
	for _, policy := range []Policy{PolicyQuery, PolicyCost, PolicyBatch} {
		p := newPool(t, Options{Policy: policy, CPUs: 2, Lanes: 2, MaxQueue: 20, MaxBatch: 4, Deadline: time.Second, Work: 30, Window: 100 * time.Microsecond, Pin: true})
		var group sync.WaitGroup
		for g := range 16 {
			group.Go(func() {
				random := rand.New(rand.NewPCG(uint64(g), 1))
				s := &switcher{p: p}
				j := new(Job)
				s.j = j
				for range 200 {
					s.to = Place(random.IntN(NumPlaces))
					s.takes = both(time.Duration(random.IntN(50_000)), time.Duration(random.IntN(50_000)))
					s.outcome = nil
					*j = Job{Cost: s.takes, Batched: 10_000, Work: 5, Alone: true}
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(3_000_000)))
					var w Work = s
					if random.IntN(2) == 0 {
						j.Alone = false
						s.sleeper.outcome = func(at Place) error {
							if at == GPU && s.takes[GPU]%5 == 0 {
								return ErrFailed
							}
							return nil
						}
						w = &s.sleeper
					}
					err := p.Do(ctx, j, w)
					var o *Overload
					if err != nil && !errors.As(err, &o) && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					cancel()
				}
			})
		}
		group.Wait()
		checkIdle(t, p)
	}
}

type nothing struct{}

func (nothing) Run(context.Context, Place) error          { return nil }
func (nothing) RunBatch(context.Context, []Work, []error) {}

func TestPoolDoesNotAllocate(t *testing.T) {
	p := newPool(t, Options{CPUs: 1, Lanes: 1, Deadline: time.Second})
	var w Work = nothing{}
	for _, j := range []*Job{{Cost: both(ms, 2*ms)}, {Cost: both(2*ms, ms)}} {
		if n := testing.AllocsPerRun(1000, func() {
			if err := p.Do(t.Context(), j, w); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("a job on an idle pool allocates %v times", n)
		}
	}
}

// A job that becomes too late while all servers are busy is told at once. A job
// that runs, or may be late, is unaffected.
func TestPoolExpiresInTime(t *testing.T) {
	for _, runLate := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, Options{Policy: PolicyGPU, CPUs: -1, Lanes: 1, Deadline: 20 * ms, RunLate: runLate})
			var group sync.WaitGroup
			do := func(j *Job, w Work, check func(err error, after time.Duration)) {
				start := time.Now()
				group.Go(func() { check(p.Do(t.Context(), j, w), time.Since(start)) })
				synctest.Wait()
			}
			ran := func(err error, after time.Duration) {
				if err != nil {
					t.Errorf("after %v: %v", after, err)
				}
			}
			long := &sleeper{takes: both(Never, 100*ms)}
			do(&Job{Cost: both(Never, 5*ms)}, long, ran)
			short := &sleeper{takes: both(Never, 3*ms), batched: ms}
			do(short.job(), short, func(err error, after time.Duration) {
				if runLate {
					ran(err, after)
					return
				}
				var o *Overload
				// The run is assumed to take another eighth of its 17 ms; one job waits for 1 ms.
				const half = (17*ms/8 + ms) / 2
				if !errors.As(err, &o) || o.Reason != Expired || o.RetryAfter != half || after != 17*ms+1 {
					t.Errorf("after %v: %v; want an expiry after 17 ms, try again in %v", after, err, half)
				}
			})
			patient := &sleeper{takes: both(Never, 3*ms), batched: ms}
			j := patient.job()
			j.Within = Never
			do(j, patient, ran)
			time.Sleep(95 * ms)
			batched := &sleeper{takes: both(Never, 30*ms), batched: 30 * ms} // longer than predicted
			do(&Job{Cost: both(Never, 3*ms), Batched: ms}, batched, ran)
			group.Wait()
			if s := p.Stats(); !runLate && (s.Shed[Expired] != 1 || s.Ended != 3) || s.Places[GPU].Batches != 1 {
				t.Errorf("%+v", s)
			}
			if short.ran.Load() == 1 != runLate || patient.ran.Load() != 1 || batched.ran.Load() != 1 {
				t.Error("the wrong jobs have run")
			}
			checkIdle(t, p)
		})
	}
}
