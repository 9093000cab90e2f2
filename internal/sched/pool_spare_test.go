package sched

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// While goroutines are late, idle CPUs take no jobs that wait for the GPU; some time afterwards they do again.
func TestPoolSpare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cpus = 8
		p := newPool(t, Options{CPUs: cpus, Lanes: 1, MaxBatch: 1})
		st := &p.s.queues.places[CPU]
		adjust := func() {
			p.mu.Lock()
			defer p.release()
			p.adjust(p.Now())
		}
		spare := func() int {
			p.mu.Lock()
			defer p.release()
			return st.spareServers
		}
		for want := cpus; want > 0; want /= 2 {
			if spare() != want || !p.Spare() {
				t.Fatalf("%d spare CPUs, want %d, and all are idle", spare(), want)
			}
			p.promptness.observe(2 * prompt)
			adjust()
			if spare() != want {
				t.Errorf("%d spare CPUs before %v have passed, want %d", spare(), lessAfter, want)
			}
			time.Sleep(lessAfter)
			p.promptness.observe(2 * prompt)
			p.promptness.observe(prompt)
			adjust()
		}
		var group sync.WaitGroup
		run := func(j *Job, takes [NumPlaces]time.Duration) (at chan Place) {
			at = make(chan Place, 1)
			group.Go(func() {
				w := &sleeper{takes: takes}
				if err := p.Do(t.Context(), j, w); err != nil {
					t.Error(err)
				}
				at <- w.at
			})
			synctest.Wait()
			return at
		}
		run(&Job{Cost: both(100*ms, Never)}, both(100*ms, Never))
		run(&Job{Cost: both(Never, 100*ms)}, both(Never, 100*ms))
		if p.Spare() {
			t.Error("a spare CPU, but one of one is busy")
		}
		// It gains from an idle CPU.
		waits := run(&Job{Cost: [NumPlaces]time.Duration{CPU: time.Hour, GPU: ms}}, both(Never, ms))
		p.mu.Lock()
		p.s.queues.places[GPU].queue.first().Cost[CPU] = 2 * ms
		p.dispatch(p.Now(), nil)
		p.release()
		if synctest.Wait(); p.Stats().Stolen != 0 {
			t.Error("a CPU took a job although none is spare")
		}
		for spare() < cpus {
			time.Sleep(moreAfter)
			adjust()
		}
		p.mu.Lock()
		p.dispatch(p.Now(), nil)
		p.release()
		if synctest.Wait(); p.Stats().Stolen != 1 {
			t.Error("no CPU took the job although they are idle")
		}
		if at := <-waits; at != CPU {
			t.Errorf("it ran on the %s", at)
		}
		group.Wait()
		checkIdle(t, p)
	})
}

// Jobs have no timers of their own, but expire in time.
func TestPoolSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyGPU, CPUs: -1, Lanes: 1})
		var group sync.WaitGroup
		group.Go(func() {
			w := &sleeper{takes: both(Never, time.Hour)}
			if err := p.Do(context.Background(), &Job{Cost: both(Never, us)}, w); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		for i, within := range []time.Duration{5 * time.Second, time.Second, 10 * ms, 3 * time.Second, 3*time.Second + ms, 26 * ms} {
			group.Go(func() {
				began := time.Now()
				err := p.Do(context.Background(), &Job{Cost: both(Never, ms), Within: within}, nothing{})
				if took := time.Since(began); took != within-ms+1 {
					t.Errorf("job %d: %v after %v, want an end after %v", i, err, took, within-ms)
				}
			})
			synctest.Wait()
		}
		if n := p.Stats().Places[GPU].Queued; n != 6 {
			t.Errorf("%d jobs wait, want 6", n)
		}
		time.Sleep(6 * time.Second)
		if s := p.Stats(); s.Shed[Expired] != 6 {
			t.Errorf("%d jobs have expired, want 6", s.Shed[Expired])
		}
		p.Lose(GPU)
		group.Wait()
	})
}

// Jobs whose deadlines are close to each other end together, at most sweepEvery too late.
func TestPoolSweepsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyGPU, CPUs: -1, Lanes: 1})
		var group sync.WaitGroup
		group.Go(func() {
			if err := p.Do(context.Background(), &Job{Cost: both(Never, us)}, &sleeper{takes: both(Never, time.Hour)}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ends := map[time.Duration]int{}
		var mu sync.Mutex
		for i := range 10 {
			group.Go(func() {
				within, began := 10*ms+time.Duration(i)*10*us, time.Now()
				err := p.Do(context.Background(), &Job{Cost: both(Never, us), Within: within}, nothing{})
				took := time.Since(began)
				var overload *Overload
				if last := within - us; !errors.As(err, &overload) || overload.Reason != Expired || took <= last || took > last+sweepEvery+1 {
					t.Errorf("job %d: %v after %v, want an end between %v and %v", i, err, took, last, last+sweepEvery)
				}
				mu.Lock()
				ends[took]++
				mu.Unlock()
			})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(ends) != 2 || ends[10*ms-us+1] != 1 || ends[10*ms-us+1+sweepEvery] != 9 {
			t.Errorf("ends %v, want one at its time and the others together", ends)
		}
		p.Lose(GPU)
		group.Wait()
	})
}
