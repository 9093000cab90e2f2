package sched

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// runBatch runs works in one batch on the GPU of p, after a job of 5 ms, and returns their
// errors. The first work leads.
func runBatch(t *testing.T, p *Pool, works []*sleeper, contexts ...context.Context) []error {
	t.Helper()
	errs := make([]error, len(works))
	var group sync.WaitGroup
	first := &sleeper{takes: both(Never, 5*ms)}
	group.Go(func() {
		if err := p.Do(t.Context(), first.job(), first); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	jobs := make([]*Job, len(works))
	for i, w := range works {
		ctx := t.Context()
		if i < len(contexts) && contexts[i] != nil {
			ctx = contexts[i]
		}
		jobs[i] = &Job{Cost: w.takes, Batched: 2 * ms}
		group.Go(func() { errs[i] = p.Do(ctx, jobs[i], w) })
		synctest.Wait()
	}
	group.Wait()
	if s := p.Stats().Places[GPU]; s.Batches != 1 {
		t.Errorf("%d batches, want one", s.Batches)
	}
	return errs
}

// A batch that took double the predicted time, in which no job failed, changes the
// predictions.
func TestPoolLearnsFromBatches(t *testing.T) {
	for name, c := range map[string]struct {
		outcome error
		want    float64
	}{
		"success":      {nil, 1 + 1.0/64},
		"error":        {errors.New("bad query"), 1 + 1.0/64},
		"failed place": {ErrFailed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
				time.Sleep(time.Hour)
				works := []*sleeper{{takes: both(Never, 2*ms), batched: 4 * ms}, {takes: both(Never, 2*ms), batched: 4 * ms}}
				works[1].outcome = func(Place) error { return c.outcome }
				errs := runBatch(t, p, works)
				if errs[0] != nil || !errors.Is(errs[1], c.outcome) {
					t.Errorf("%v, want %v", errs, c.outcome)
				}
				if got := p.Stats().Places[GPU]; got.Slowdown != c.want || got.Busy != 13*ms {
					t.Errorf("busy for %v, slowdown %v; want 13 ms, %v", got.Busy, got.Slowdown, c.want)
				}
			})
		})
	}
}

func cancelledAfter(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	time.AfterFunc(d, cancel)
	return ctx
}

// Each job of a batch has its own outcome, also if its context ended while the batch ran.
func TestPoolOutcomesOfBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
		var want [4]error
		works := make([]*sleeper, len(want))
		contexts := []context.Context{nil, nil, cancelledAfter(t, 6*ms), cancelledAfter(t, 6*ms)}
		for i := range want {
			if i%2 == 0 {
				want[i] = errors.New("bad query")
			}
			works[i] = &sleeper{takes: both(Never, 2*ms), batched: 2 * ms}
			works[i].outcome = func(Place) error { return want[i] }
		}
		for i, err := range runBatch(t, p, works, contexts...) {
			if !errors.Is(err, want[i]) || errors.Is(err, context.Canceled) {
				t.Errorf("job %d: %v, want %v", i, err, want[i])
			}
		}
	})
}

// A signal that comes after a job has gone, to the next job that gets its bell, ends no wait; and to ring a bell
// with an unread signal does not wait.
func TestPoolLateSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyGPU, CPUs: 2, Lanes: 1})
		var mu sync.Mutex
		waiters := 0
		p.waiters.kept.New = func() any {
			mu.Lock()
			defer mu.Unlock()
			waiters++
			w := newWaiter()
			w.bell <- struct{}{}
			return w
		}
		works := make([]*sleeper, 2) // both fail on the GPU, then begin on the idle CPUs
		for i := range works {
			works[i] = &sleeper{takes: both(2*ms, 2*ms), batched: 2 * ms, outcome: func(at Place) error {
				if at == GPU {
					return ErrFailed
				}
				return nil
			}}
		}
		for i, err := range runBatch(t, p, works) {
			if err != nil || works[i].at != CPU {
				t.Errorf("job %d: %v, at the %s", i, err, works[i].at)
			}
		}
		if waiters == 0 {
			t.Error("no job waited")
		}
	})
	full := newWaiter().bell
	full <- struct{}{}
	if left := ringAll([]chan struct{}{full, full}); len(left) != 0 || len(full) != 1 {
		t.Errorf("%d bells left, %d signals", len(left), len(full))
	}
}

// A job in a batch does not wake while the batch runs, though its deadline has passed:
// otherwise, this test would take days.
func TestPoolBatchOutlastsDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1, Deadline: 14 * ms})
		const takes = 10_000 * time.Hour
		works := []*sleeper{{takes: both(Never, 2*ms), batched: takes}, {takes: both(Never, 2*ms), batched: takes}}
		for i, err := range runBatch(t, p, works) {
			if err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		}
	})
}

// A job expires when it can no longer begin, also in a pool that has run for a while.
func TestPoolExpiresExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1})
		time.Sleep(time.Hour)
		release := occupy(t, p, CPU)
		start := time.Now()
		var late *Overload
		err := p.Do(t.Context(), &Job{Cost: both(2*ms, Never), Within: 10 * ms}, nothing{})
		if after := time.Since(start); !errors.As(err, &late) || late.Reason != Expired || after != 8*ms+1 {
			t.Errorf("%v after %v, want an expiry after 8 ms", err, after)
		}
		release()
		checkIdle(t, p)
	})
}

// saboteur leads a batch that fails in part, after which the scheduler panics.
type saboteur struct {
	sleeper
	spoil func()
}

func (s *saboteur) RunBatch(ctx context.Context, all []Work, outcomes []error) {
	works := make([]Work, len(all))
	for i, w := range all {
		if works[i] = w; i == 0 {
			works[i] = &s.sleeper
		}
	}
	s.sleeper.RunBatch(ctx, works, outcomes)
	s.spoil()
}

// If the scheduler panics after a batch, the other jobs of the batch end, with their outcome or an error,
// and the pool goes on.
func TestPoolSchedulerPanicsAfterBatch(t *testing.T) {
	for name, c := range map[string]struct {
		failure     error
		spoil, mend func(p *Pool)
		fails       [3]bool // jobs beside the leader
	}{
		"a job waits again": {
			ErrFailed, func(p *Pool) { p.sweeper.pool = nil }, func(p *Pool) { p.sweeper.pool = p }, [3]bool{false, true, false},
		},
		"two jobs wait again": {
			ErrFailed, func(p *Pool) { p.sweeper.pool = nil }, func(p *Pool) { p.sweeper.pool = p }, [3]bool{true, false, true},
		},
		"the place is lost": {
			ErrLost, func(p *Pool) { p.s.queues.open.jobs = []*Job{nil} }, func(p *Pool) {
				p.s.queues.open.jobs = nil
				p.Regain(GPU)
			}, [3]bool{false, true, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
				var group sync.WaitGroup
				first := &sleeper{takes: both(Never, 5*ms)}
				group.Go(func() {
					if err := p.Do(t.Context(), first.job(), first); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				group.Go(func() {
					defer func() {
						if recover() == nil {
							t.Error("the leader does not panic")
						}
					}()
					w := &saboteur{sleeper{takes: both(9*ms, 5*ms), batched: ms}, func() { c.spoil(p) }}
					_ = p.Do(t.Context(), w.job(), w)
				})
				synctest.Wait()
				for i, fails := range c.fails {
					w := &sleeper{takes: both(9*ms, 5*ms), batched: ms, outcome: func(at Place) error {
						if fails && at == GPU {
							return c.failure
						}
						return nil
					}}
					group.Go(func() {
						if err := p.Do(t.Context(), w.job(), w); errors.Is(err, errScheduler) != fails || !fails && err != nil {
							t.Errorf("job %d, whose place failed %v: %v", i, fails, err)
						}
					})
					synctest.Wait()
				}
				group.Wait()
				c.mend(p)
				for _, at := range []Place{CPU, GPU} {
					after := &sleeper{takes: both(Never, Never)}
					after.takes[at] = ms
					if err := p.Do(t.Context(), after.job(), after); err != nil {
						t.Errorf("a query after it, on the %s: %v", at, err)
					}
				}
				if s := p.Stats(); s.Places[GPU].Batches != 1 || s.Arrived != s.Ended+s.Cancelled {
					t.Errorf("%+v", s)
				}
				checkIdle(t, p)
			})
		})
	}
}
