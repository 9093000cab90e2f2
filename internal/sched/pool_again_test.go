package sched

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// occupy runs a job at a server of p until the returned function is called, which waits
// for its end.
func occupy(t *testing.T, p *Pool, at Place) (release func()) {
	t.Helper()
	done := make(chan struct{})
	j := &Job{Cost: both(Never, Never)}
	j.Cost[at] = ms
	var group sync.WaitGroup
	group.Go(func() {
		if err := p.Do(t.Context(), j, runner(func(context.Context, Place) error { <-done; return nil })); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return func() {
		close(done)
		group.Wait()
	}
}

func checkUnlocked(t *testing.T, p *Pool) {
	t.Helper()
	if !p.mu.TryLock() {
		t.Fatal("the pool is locked while work runs")
	}
	p.mu.Unlock()
}

// A job that ran alone and failed runs once more, at the other place. If it cannot run
// there, its error is the one of the run.
func TestPoolRunsFailedJobsElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		lost bool
	}{"failed": {ErrFailed, false}, "lost": {ErrLost, true}} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
			var visited []Place
			w := runner(func(_ context.Context, at Place) error {
				if visited = append(visited, at); at == GPU {
					return c.err
				}
				return nil
			})
			if err := p.Do(t.Context(), &Job{Cost: both(us, us)}, w); err != nil || len(visited) != 2 || visited[0] != GPU || visited[1] != CPU {
				t.Errorf("%v, visited %v, want the GPU, then the CPU", err, visited)
			}
			if s := p.Stats(); s.Failed != 1 || s.Ended != 1 || s.Places[GPU].Lost != c.lost {
				t.Errorf("%+v", s)
			}
			p.Regain(GPU)
			if err := p.Do(t.Context(), &Job{Cost: both(Never, us)}, w); !errors.Is(err, c.err) || len(visited) != 3 {
				t.Errorf("only the GPU can run it: %v, %d runs", err, len(visited))
			}
			if s := p.Stats(); s.Failed != 2 || s.Ended != 2 || s.Places[GPU].Lost != c.lost {
				t.Errorf("%+v", s)
			}
			checkIdle(t, p)
		})
	}
}

const waits = Place(NumPlaces)

// submit lets a job wait or run in the group, which sets at when it runs.
func submit(t *testing.T, p *Pool, cost [NumPlaces]time.Duration, group *sync.WaitGroup, at *Place) {
	t.Helper()
	*at = waits
	group.Go(func() {
		w := runner(func(_ context.Context, place Place) error { *at = place; return nil })
		if err := p.Do(t.Context(), &Job{Cost: cost}, w); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
}

// Losing or regaining a place lets waiting jobs begin at once.
func TestPoolBeginsWaitingJobsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		policy Policy
		busy   Place
		change func(p *Pool)
	}{
		"lost":     {PolicyGPU, GPU, func(p *Pool) { p.Lose(GPU) }},
		"regained": {PolicyCost, CPU, func(p *Pool) { p.Regain(GPU) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, Options{Policy: c.policy, CPUs: 1, Lanes: 1})
				if c.busy == CPU {
					p.Lose(GPU)
				}
				release := occupy(t, p, c.busy)
				var group sync.WaitGroup
				var at Place
				if submit(t, p, both(ms, ms), &group, &at); at != waits {
					t.Fatalf("it begins at the busy %s", at)
				}
				c.change(p)
				if synctest.Wait(); at != c.busy.Other() {
					t.Errorf("it does not begin at the idle %s: %v", c.busy.Other(), at)
				}
				release()
				group.Wait()
			})
		})
	}
}

// A panic of work lets waiting jobs begin.
func TestPoolBeginsAfterPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1})
		var group sync.WaitGroup
		group.Go(func() {
			defer func() {
				if recover() != "work" {
					t.Error("it does not panic")
				}
			}()
			_ = p.Do(t.Context(), &Job{Cost: both(ms, Never)}, runner(func(context.Context, Place) error {
				time.Sleep(ms)
				panic("work")
			}))
		})
		synctest.Wait()
		var at Place
		submit(t, p, both(ms, Never), &group, &at)
		if group.Wait(); at != CPU {
			t.Error("the next job does not begin after the panic")
		}
		checkIdle(t, p)
	})
}

// A Switch to the job's own place keeps the server; one to a lost place fails. The work
// runs without the pool's lock after both.
func TestPoolSwitchKeepsServer(t *testing.T) {
	for name, c := range map[string]struct {
		to   Place
		want error
	}{"to its place": {GPU, nil}, "to a lost place": {CPU, ErrNoPlace}} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, Options{Policy: PolicyGPU, CPUs: 1, Lanes: 1})
			p.Lose(CPU)
			j := &Job{Cost: both(ms, ms)}
			if err := p.Do(t.Context(), j, runner(func(ctx context.Context, _ Place) error {
				if err := p.Switch(ctx, j, c.to); !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				checkUnlocked(t, p)
				if s := p.Stats(); s.Places[GPU].Running != 1 || s.Places[GPU].Runs != 1 {
					t.Errorf("%+v", s)
				}
				return nil
			})); err != nil || j.Place != GPU || j.Moves != 0 {
				t.Errorf("%v, at the %s after %d moves", err, j.Place, j.Moves)
			}
			if moved := p.Stats().Moved; moved != 0 {
				t.Errorf("%d moved", moved)
			}
			checkIdle(t, p)
		})
	}
}

// The earliest of Job.Within, Options.Deadline and the deadline of the context holds.
func TestPoolEarliestDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		within, def, left, want time.Duration
	}{
		"job":             {3 * ms, 4 * ms, 5 * ms, 3 * ms},
		"job, no context": {3 * ms, 2 * ms, 0, 3 * ms},
		"default":         {0, 4 * ms, 5 * ms, 4 * ms},
		"context":         {6 * ms, 7 * ms, 5 * ms, 5 * ms},
		"context only":    {0, 0, 5 * ms, 5 * ms},
		"none":            {0, 0, 0, Never},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, Options{CPUs: 1, Deadline: c.def})
				ctx := t.Context()
				if c.left > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.left)
					defer cancel()
				}
				j := &Job{Cost: both(us, Never), Within: c.within}
				if err := p.Do(ctx, j, nothing{}); err != nil || j.Deadline != c.want {
					t.Errorf("%v, deadline %v, want %v", err, j.Deadline, c.want)
				}
			})
		})
	}
}
