package sched

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// After a job was shed because CPUs feed a busy GPU, others like it are shed without the lock, for a short time. Jobs that
// need not be shed are not.
func TestClosing(t *testing.T) {
	const deadline = 10 * ms
	for name, o := range map[string]Options{
		"too late":   {Deadline: deadline},
		"queue full": {MaxQueue: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o.Policy, o.CPUs, o.Lanes, o.MaxBatch, o.Feeding = PolicyCost, 2, 1, 1, 20*us
				p := newPool(t, o)
				var group sync.WaitGroup
				defer group.Wait()
				long := &sleeper{takes: both(Never, 9*ms), batched: 9 * ms}
				for range 1 + max(o.MaxQueue, 0) { // one runs
					group.Go(func() {
						j := long.job()
						j.Within = Never
						if err := p.Do(t.Context(), j, long); err != nil {
							t.Error(err)
						}
					})
					synctest.Wait()
				}
				shed := func(err error) bool {
					var overload *Overload
					return errors.As(err, &overload)
				}
				w := &sleeper{takes: both(time.Microsecond, time.Microsecond), batched: time.Microsecond}
				like := func() *Job { return newBatched(2*ms, 3*ms, 2*ms) }
				p.s.queues.places[CPU].setSpare(0)
				if !shed(p.Do(t.Context(), like(), w)) {
					t.Fatal("a job beyond the limit is not shed")
				}
				before := p.Stats()
				p.mu.Lock() // whoever asks the scheduler waits
				if !shed(p.Do(t.Context(), like(), w)) {
					t.Error("just after another, a job is not shed without the lock")
				}
				admitted, alone, small, later := like(), like(), newBatched(10*us, 3*ms, 2*ms), like()
				admitted.Admitted, alone.Alone, later.Within = true, true, time.Hour
				for what, j := range map[string]*Job{"admitted": admitted, "alone": alone, "small": small, "later": later} {
					if o.MaxQueue > 0 && j == later {
						continue // the deadline does not matter
					}
					if p.s.closing.sheds(p, j, j.Within) != nil {
						t.Errorf("the %s job is shed", what)
					}
				}
				p.mu.Unlock()
				after := p.Stats()
				why := TooLate
				if o.MaxQueue > 0 {
					why = QueueFull
				}
				if after.Shed[why] != before.Shed[why]+1 || after.Arrived < before.Arrived+1 {
					t.Errorf("shed %v of %d, before %v of %d", after.Shed, after.Arrived, before.Shed, before.Arrived)
				}
				time.Sleep(maxClosed)
				if p.s.closing.sheds(p, like(), 0) != nil {
					t.Error("a while later, a job is shed without the lock")
				}
			})
		})
	}
}

// An idle GPU, or CPUs that need not feed it, close nothing.
func TestClosingNeedsFeeding(t *testing.T) {
	s := newScheduler(t, Options{Policy: PolicyCost, CPUs: 2, Lanes: 1, Deadline: 10 * ms, Feeding: 20 * us})
	s.trialAt = Never
	if err := s.Arrive(time.Second, newBatched(20*ms, 30*ms, 20*ms)); err == nil {
		t.Fatal("a job that takes longer than its deadline is admitted")
	}
	if s.closing.last.Load() != nil {
		t.Error("closed")
	}
}
