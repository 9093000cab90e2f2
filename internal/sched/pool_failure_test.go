package sched

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// No job is lost or runs twice when a GPU fails, temporarily or permanently.
func TestPoolDeviceFailsInMidBatch(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, Options{Policy: PolicyGPU, CPUs: 2, Lanes: 1, MaxBatch: 4})
			var group sync.WaitGroup
			errBad := errors.New("bad query")
			works := make([]*sleeper, 12)
			for i := range works {
				w := &sleeper{takes: both(3*ms, 2*ms), batched: ms}
				w.outcome = func(at Place) error {
					switch {
					case at == CPU, i == 0: // the next batch fails
						return nil
					case i%4 == 3:
						return errBad // no retry
					case lost:
						return fmt.Errorf("device 0: %w", ErrLost)
					case i%2 == 1:
						return fmt.Errorf("device 0: %w", ErrFailed)
					}
					return nil
				}
				works[i] = w
				group.Go(func() {
					err := p.Do(t.Context(), w.job(), w)
					if bad := errors.Is(err, errBad); !bad && err != nil {
						t.Errorf("job %d: %v", i, err)
					} else if bad && i%4 != 3 {
						t.Errorf("job %d has the outcome of another", i)
					}
				})
				synctest.Wait()
			}
			only := &sleeper{takes: both(Never, 50*ms), batched: ms} // it waits longest
			group.Go(func() {                                        // only the GPU can run it
				if err := p.Do(t.Context(), only.job(), only); lost != errors.Is(err, ErrNoPlace) || !lost && err != nil {
					t.Errorf("the GPU's own job: %v", err)
				}
			})
			group.Wait()
			for i, w := range works {
				if n := w.ran.Load(); n != 1 && i%4 != 3 {
					t.Errorf("job %d ran %d times", i, n)
				}
				if i%4 != 3 && i > 0 && lost && w.at != CPU {
					t.Errorf("job %d ran at the %s", i, w.at)
				}
			}
			if got := p.Wait(GPU) == Never; got != lost {
				t.Errorf("the GPU is lost: %v, want %v", got, lost)
			}
			p.Regain(GPU)
			again := &sleeper{takes: both(Never, ms), batched: ms}
			if err := p.Do(t.Context(), again.job(), again); err != nil || again.at != GPU {
				t.Errorf("after it came back: %v at %s", err, again.at)
			}
			checkIdle(t, p)
		})
	}
}

// Jobs of a failed batch whose deadline has passed are told at once, although
// all servers stay busy; the others wait again until they expire or a server is
// idle.
func TestPoolDeadlinesAfterFailedBatch(t *testing.T) {
	for _, c := range []struct{ within, after time.Duration }{
		{50 * ms, 102 * ms},    // the batch ends 102 ms after their arrival
		{200 * ms, 180*ms + 1}, // 20 ms left for the CPU
		{20 * time.Second, 0},  // the CPU is idle earlier
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1, MaxBatch: 4})
			var group sync.WaitGroup
			do := func(w *sleeper, within time.Duration, cost [NumPlaces]time.Duration, ended func(err error, after time.Duration)) {
				start := time.Now()
				group.Go(func() {
					ended(p.Do(t.Context(), &Job{Cost: cost, Batched: ms, Within: within}, w), time.Since(start))
				})
				synctest.Wait()
			}
			fine := func(err error, _ time.Duration) {
				if err != nil {
					t.Error(err)
				}
			}
			do(&sleeper{takes: both(10*time.Second, Never)}, Never, both(10*time.Second, Never), fine)
			do(&sleeper{takes: both(Never, 2*ms)}, Never, both(Never, 2*ms), fine)
			for i := range 3 {
				fails := &sleeper{takes: both(20*ms, 5*ms), batched: 100 * ms / 3, outcome: func(at Place) error {
					if at == GPU {
						return ErrFailed
					}
					return nil
				}}
				do(fails, c.within, both(20*ms, 5*ms), func(err error, after time.Duration) {
					if c.after == 0 {
						fine(err, after)
						return
					}
					var late *Overload
					if !errors.As(err, &late) || late.Reason != Expired || after < c.after-ms || after > c.after+ms {
						t.Errorf("job %d, within %v: %v after %v, want an expiry after %v", i, c.within, err, after, c.after)
					}
				})
			}
			group.Wait()
			if s := p.Stats(); s.Places[GPU].Batches != 1 {
				t.Errorf("%d batches: the test shows nothing", s.Places[GPU].Batches)
			}
			checkIdle(t, p)
		})
	}
}

// A job that is cancelled while a batch runs it stays in the batch, and is not
// retried if it fails.
func TestPoolCancelInBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
		var group sync.WaitGroup
		start := time.Now()
		works := make([]*sleeper, 3)
		for i := range works {
			w := &sleeper{takes: both(50*ms, 10*ms), batched: 10 * ms}
			w.outcome = func(at Place) error {
				if at == GPU && i == 2 {
					return ErrFailed
				}
				return nil
			}
			works[i] = w
			ctx := t.Context()
			if i > 0 { // the leader, whose batch continues, and the other
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				time.AfterFunc(15*ms, cancel)
			}
			j := w.job()
			group.Go(func() {
				err := p.Do(ctx, j, w)
				if i == 2 && (!errors.Is(err, context.Canceled) || time.Since(start) != 30*ms) || i < 2 && err != nil {
					t.Errorf("job %d: %v after %v", i, err, time.Since(start))
				}
			})
			synctest.Wait()
		}
		group.Wait()
		if n := works[2].ran.Load(); n != 0 {
			t.Errorf("the job that left ran %d times", n)
		}
		checkIdle(t, p)
	})
}

func TestPoolLose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1, MaxBatch: 1})
		var group sync.WaitGroup
		for i := range 4 {
			w := &sleeper{takes: both(ms, 10*ms)}
			group.Go(func() {
				if err := p.Do(t.Context(), w.job(), w); err != nil || (w.at == GPU) != (i == 0) {
					t.Errorf("job %d: %v at %s", i, err, w.at)
				}
			})
			synctest.Wait()
		}
		p.Lose(GPU)
		group.Wait()
		checkIdle(t, p)
	})
}

type switcher struct {
	sleeper
	p       *Pool
	j       *Job
	to      Place
	visited []Place
}

func (s *switcher) Run(ctx context.Context, at Place) error {
	s.visited = append(s.visited, at)
	s.watch.enter(at)
	time.Sleep(s.takes[at])
	s.watch.leave(at)
	if err := s.p.Switch(ctx, s.j, s.to); err != nil {
		return err
	}
	s.visited = append(s.visited, s.j.Place)
	s.watch.enter(s.to)
	defer s.watch.leave(s.to)
	time.Sleep(s.takes[s.to])
	return nil
}

func TestPoolSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyRatio, CPUs: 1, Lanes: 1})
		var watch watcher
		var group sync.WaitGroup
		for i := range 6 {
			s := &switcher{sleeper: sleeper{takes: both(3*ms, 2*ms), watch: &watch}, p: p, to: CPU}
			s.j = s.job()
			s.j.Alone = true
			group.Go(func() {
				if err := p.Do(t.Context(), s.j, s); err != nil {
					t.Error(err)
				}
				if !slices.Equal(s.visited, []Place{GPU, CPU}) || s.j.Moves != 1 || s.j.Place != CPU {
					t.Errorf("job %d: visited %v, %+v", i, s.visited, s.j)
				}
			})
			synctest.Wait()
		}
		start := time.Now()
		group.Wait()
		// While one job is on the CPU the next is on the GPU: 2 + 6*3 ms.
		if d := time.Since(start); d != 20*ms {
			t.Errorf("all took %v, want 20 ms", d)
		}
		if c, g := watch.most[CPU].Load(), watch.most[GPU].Load(); c != 1 || g != 1 {
			t.Errorf("%d CPUs and %d lanes ran at once", c, g)
		}
		checkIdle(t, p)
	})
}

func TestPoolSwitchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyRatio, CPUs: 1, Lanes: 1})
		long := &sleeper{takes: both(100*ms, Never)}
		var group sync.WaitGroup
		group.Go(func() { _ = p.Do(t.Context(), long.job(), long) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*ms)
		defer cancel()
		s := &switcher{sleeper: sleeper{takes: both(ms, 2*ms)}, p: p, to: CPU}
		s.j = s.job()
		if err := p.Do(ctx, s.j, s); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("failed switch: %v", err)
		}
		p.Lose(CPU)
		s.visited = nil
		err := p.Do(t.Context(), s.j, s)
		if !errors.Is(err, ErrNoPlace) || !slices.Equal(s.visited, []Place{GPU}) {
			t.Errorf("switch to a lost place: %v, visited %v", err, s.visited)
		}
		group.Wait()
		checkIdle(t, p)
	})
}

func TestPoolPanicsAfterSwitchInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyRatio, CPUs: 1, Lanes: 1})
		long := &sleeper{takes: both(100*ms, Never)}
		var group sync.WaitGroup
		group.Go(func() { _ = p.Do(t.Context(), long.job(), long) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*ms)
		defer cancel()
		j := &Job{Cost: both(ms, 2*ms)}
		func() {
			defer func() {
				if r := recover(); r != "switched in vain" {
					t.Errorf("recovered %v", r)
				}
			}()
			_ = p.Do(ctx, j, runner(func(ctx context.Context, _ Place) error {
				if err := p.Switch(ctx, j, CPU); err == nil {
					t.Error("it got a CPU that is busy")
				}
				panic("switched in vain")
			}))
		}()
		group.Wait()
		checkIdle(t, p)
	})
}

// Only the query that triggers the panic fails: the lock is released, and the
// query waits no more.
func TestPoolSchedulerPanics(t *testing.T) {
	for _, inSwitch := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, Options{Policy: PolicyRatio, CPUs: 1, Lanes: 1})
			long := &sleeper{takes: both(100*ms, Never)}
			var group sync.WaitGroup
			group.Go(func() {
				if err := p.Do(t.Context(), long.job(), long); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			bug := func() { p.s.expired = append(p.s.expired, nil) }
			j := &Job{Cost: both(ms, ms)}
			w := runner(func(ctx context.Context, _ Place) error {
				bug()
				return p.Switch(ctx, j, CPU)
			})
			if !inSwitch {
				bug()
				j.Cost[GPU] = Never
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("it does not panic")
					}
				}()
				_ = p.Do(t.Context(), j, w)
			}()
			if j.entry.state != idle {
				t.Errorf("the job is in state %d", j.entry.state)
			}
			for _, at := range []Place{CPU, GPU} {
				after := &sleeper{takes: both(Never, Never)}
				after.takes[at] = ms
				if err := p.Do(t.Context(), after.job(), after); err != nil {
					t.Errorf("a query after it, on the %s: %v", at, err)
				}
			}
			group.Wait()
			checkIdle(t, p)
		})
	}
}

type runner func(ctx context.Context, at Place) error

func (r runner) Run(ctx context.Context, at Place) error   { return r(ctx, at) }
func (r runner) RunBatch(context.Context, []Work, []error) { panic("it must run alone") }

type panicker struct{ after time.Duration }

func (w *panicker) Run(context.Context, Place) error { panic("run") }
func (w *panicker) RunBatch(context.Context, []Work, []error) {
	time.Sleep(w.after)
	panic("batch")
}

func TestPoolPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
		var group sync.WaitGroup
		do := func(w Work, check func(recovered any, err error)) {
			group.Go(func() {
				var err error
				defer func() { check(recover(), err) }()
				err = p.Do(t.Context(), &Job{Cost: both(Never, 5*ms), Batched: ms}, w)
			})
			synctest.Wait()
		}
		do(new(panicker), func(r any, _ error) {
			if r != "run" {
				t.Errorf("recovered %v", r)
			}
		})
		checkIdle(t, p)
		do(&sleeper{takes: both(Never, 5*ms)}, func(_ any, err error) {
			if err != nil {
				t.Error(err)
			}
		})
		do(new(panicker), func(r any, _ error) {
			if r != "batch" {
				t.Errorf("recovered %v", r)
			}
		})
		do(&sleeper{batched: ms}, func(_ any, err error) {
			if err != nil { // it was a leader itself
				t.Errorf("the other of the batch: %v", err)
			}
		})
		group.Wait()
		checkIdle(t, p)
	})
}

// Each job of the batch except a cancelled one runs again, once: on the CPU, or
// alone on the GPU if only the GPU can run it.
func TestPoolLeaderPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyGPU, CPUs: 2, Lanes: 1})
		var group sync.WaitGroup
		first := &sleeper{takes: both(Never, 5*ms)}
		group.Go(func() { _ = p.Do(t.Context(), first.job(), first) })
		synctest.Wait()
		group.Go(func() {
			defer func() {
				if r := recover(); r != "batch" {
					t.Errorf("the leader: recovered %v", r)
				}
			}()
			w := &panicker{after: 2 * ms}
			_ = p.Do(t.Context(), &Job{Cost: both(9*ms, ms), Batched: ms}, w)
		})
		synctest.Wait()
		const others = 6
		var works [others]*sleeper
		var jobs [others]*Job
		for i := range works {
			w := &sleeper{takes: both(9*ms, 5*ms), batched: ms}
			if i%3 == 2 {
				w.takes[CPU] = Never
			}
			ctx := t.Context()
			if i == 1 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				time.AfterFunc(6*ms, cancel) // while the batch runs
			}
			works[i], jobs[i] = w, w.job()
			group.Go(func() {
				err := p.Do(ctx, jobs[i], w)
				if left := i == 1; left != errors.Is(err, context.Canceled) || !left && err != nil {
					t.Errorf("job %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		group.Wait()
		for i, w := range works {
			want, at := int32(1), CPU
			switch {
			case i == 1:
				want = 0
			case i%3 == 2:
				at = GPU
			}
			if n := w.ran.Load(); n != want || n > 0 && (w.at != at || jobs[i].Place != at || jobs[i].Batch != 1) {
				t.Errorf("job %d ran %d times, last at the %s in a batch of %d; want %d, at the %s", i, n, w.at, jobs[i].Batch, want, at)
			}
		}
		// All but the panic took the predicted time.
		if s := p.Stats(); s.Arrived != others+2 || s.Ended != s.Arrived || s.Places[GPU].Slowdown != 1 {
			t.Errorf("%+v", s)
		}
		checkIdle(t, p)
	})
}

// If the target of a Switch is lost after the job's server was released, and no
// place can continue the job, the error is not ErrNoPlace.
func TestPoolSwitchOfNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyRatio, CPUs: 1, Lanes: 1})
		long := &sleeper{takes: both(100*ms, Never)}
		var group sync.WaitGroup
		group.Go(func() { _ = p.Do(t.Context(), long.job(), long) })
		synctest.Wait()
		s := &switcher{sleeper: sleeper{takes: both(ms, 2*ms)}, p: p, to: CPU}
		s.j = s.job()
		group.Go(func() {
			if err := p.Do(t.Context(), s.j, s); err == nil || errors.Is(err, ErrNoPlace) {
				t.Errorf("switched to a place that was lost, from one that was lost: %v", err)
			}
		})
		time.Sleep(10 * ms)
		p.Lose(GPU)
		p.Lose(CPU)
		group.Wait()
		checkIdle(t, p)
	})
}
