package sched

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// shedAll sheds n jobs in closings, so that Pool.Refuse knows that most are shed. The pool's GPU must be busy for longer
// than their deadline.
func shedAll(t *testing.T, p *Pool, n int) {
	t.Helper()
	var overload *Overload
	for range n {
		j := newBatched(2*ms, 3*ms, 2*ms)
		j.Patient = true
		if err := p.Do(t.Context(), j, &sleeper{}); !errors.As(err, &overload) {
			t.Fatalf("error %v, want *Overload", err)
		}
	}
}

// occupyGPU keeps the GPU busy until end is called.
func occupyGPU(t *testing.T, p *Pool, takes time.Duration) (end func()) {
	var group sync.WaitGroup
	group.Go(func() {
		w := &sleeper{takes: both(Never, takes), batched: takes}
		j := w.job()
		j.Within = Never
		if err := p.Do(t.Context(), j, w); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return group.Wait
}

// After jobs were shed, queries are refused before they are planned, for a short time, except for some.
func TestRefuse(t *testing.T) {
	for name, o := range map[string]Options{
		"too late":   {Deadline: 10 * ms},
		"queue full": {MaxQueue: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o.Policy, o.CPUs, o.Lanes, o.MaxBatch, o.Feeding = PolicyCost, 2, 1, 1, 20*us
				p := newPool(t, o)
				for range 1 + max(o.MaxQueue, 0) {
					defer occupyGPU(t, p, 9*ms)()
				}
				refused := func(deadline time.Time) int {
					n := 0
					for range probeEvery {
						if err := p.Refuse(deadline); err != nil {
							var overload *Overload
							if !errors.As(err, &overload) || overload.RetryAfter <= 0 {
								t.Fatalf("error %v, want *Overload with RetryAfter", err)
							}
							n++
						}
					}
					return n
				}
				if n := refused(time.Time{}); n > 0 {
					t.Errorf("%d are refused before any was shed", n)
				}
				shedAll(t, p, 1+seenLeast) // the first one closes
				if n := refused(time.Time{}); n > 0 {
					t.Errorf("%d are refused by a closing that began before enough jobs were seen", n)
				}
				time.Sleep(maxClosed)
				shedAll(t, p, 1)
				before := p.Stats()
				p.mu.Lock() // whoever asks the scheduler waits
				n := refused(time.Time{})
				p.mu.Unlock()
				if n != probeEvery-1 {
					t.Errorf("%d of %d are refused", n, probeEvery)
				}
				after := p.Stats()
				why := TooLate
				if o.MaxQueue > 0 {
					why = QueueFull
				}
				if shed := after.Shed[why] - before.Shed[why]; shed != int64(n) || after.Arrived-before.Arrived != shed {
					t.Errorf("%d are counted as shed of %d that arrived, want %d", shed, after.Arrived-before.Arrived, n)
				}
				late, early := time.Now().Add(time.Hour), time.Now().Add(ms)
				if n := refused(early); n != probeEvery-1 {
					t.Errorf("%d with an early deadline are refused", n)
				}
				if n := refused(late); n != probeEvery-1 { // later than Options.Deadline, or no time matters
					t.Errorf("%d with a late deadline are refused", n)
				}
				time.Sleep(maxClosed)
				if n := refused(time.Time{}); n > 0 {
					t.Errorf("a millisecond later %d are refused", n)
				}
				if p.s.closing.last.Load() != nil {
					t.Error("the closing is still there")
				}
			})
		})
	}
}

// If closings shed few of the jobs, because CPUs can take them or they run on the GPU alone, none is refused early.
func TestRefuseKnowsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCost, CPUs: 2, Lanes: 1, MaxBatch: 1, Feeding: 20 * us, Deadline: 10 * ms})
		defer occupyGPU(t, p, 9*ms)()
		shedAll(t, p, 1+seenLeast)
		for range seenLeast {
			w := &sleeper{}
			if err := p.Do(t.Context(), newBatched(10*us, 3*ms, 2*ms), w); err != nil || w.at != CPU {
				t.Fatalf("a small job: %v, at the %s", err, w.at)
			}
		}
		time.Sleep(maxClosed)
		shedAll(t, p, 1)
		for range probeEvery {
			if err := p.Refuse(time.Time{}); err != nil {
				t.Fatalf("refused: %v", err)
			}
		}
	})
}

// At twice the rate of a GPU, it remains busy, most of those that are shed are refused early, and nothing is refused when the overload has
// ended.
func TestRefuseRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			adds     = 50 * us
			deadline = 8 * ms
			storm    = 200 * ms
			calm     = 200 * ms
			settles  = 120 * ms // the share that is refused falls
		)
		p := newPool(t, Options{
			Policy: PolicyCost, CPUs: 2, Lanes: 1, MaxBatch: 64, Deadline: deadline, Feeding: 20 * us, Patience: 20 * ms,
		})
		var group sync.WaitGroup
		var inTime, refused, shed, refusedAfterwards, shedAfterwards atomic.Int64
		began := time.Now()
		send := func() {
			at := time.Since(began)
			count := func(during, afterwards *atomic.Int64) {
				switch {
				case at < storm:
					during.Add(1)
				case at > storm+settles:
					afterwards.Add(1)
				}
			}
			if p.Refuse(time.Time{}) != nil {
				count(&refused, &refusedAfterwards)
				return
			}
			w := &sleeper{takes: both(5*ms, 100*us+adds), batched: adds}
			j := newBatched(5*ms, 100*us+adds, adds)
			j.Patient = true
			switch err := p.Do(t.Context(), j, w); {
			case err != nil:
				count(&shed, &shedAfterwards)
			case at < storm && time.Since(began)-at <= deadline+deadline/4:
				inTime.Add(1)
			}
		}
		for time.Since(began) < storm+calm {
			group.Go(send)
			if time.Since(began) < storm {
				time.Sleep(adds / 2)
			} else {
				time.Sleep(2 * adds)
			}
		}
		group.Wait()
		t.Logf("%d in time, %d refused early, %d shed; afterwards %d refused, %d shed", inTime.Load(), refused.Load(), shed.Load(), refusedAfterwards.Load(), shedAfterwards.Load())
		if capacity := int64(storm / adds); inTime.Load() < capacity*9/10 {
			t.Errorf("%d of %d jobs ended in time, the GPU could do %d", inTime.Load(), 2*capacity, capacity)
		}
		if refused.Load() < 2*shed.Load() {
			t.Errorf("%d were refused early, and %d were planned before they were shed", refused.Load(), shed.Load())
		}
		if n := refusedAfterwards.Load() + shedAfterwards.Load(); n > 0 {
			t.Errorf("%d are shed at half of the rate", n)
		}
		checkIdle(t, p)
	})
}
