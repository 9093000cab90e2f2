package sched

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A job that leaves the CPU releases its core, and a job that moves to the CPU
// gets one.
func TestPinnedJobsMove(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		from   Place
	}{{PolicyCPU, CPU}, {PolicyGPU, GPU}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, Options{Policy: c.policy, CPUs: 1, Lanes: 1, Pin: true})
			if p.cores == nil {
				t.Fatal("the processors of this machine cannot be told")
			}
			check := func(when string, at Place) {
				t.Helper()
				p.cores.mu.Lock()
				defer p.cores.mu.Unlock()
				if free := len(p.cores.free); free != int(at) || p.Stats().Places[at].Running != 1 {
					t.Errorf("from the %s, %s: %d processors are free", c.from, when, free)
				}
			}
			s := &switcher{sleeper: sleeper{takes: both(10*ms, 10*ms)}, p: p, to: c.from.Other()}
			s.j = s.job()
			var group sync.WaitGroup
			group.Go(func() {
				if err := p.Do(t.Context(), s.j, s); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(5 * ms)
			check("at first", c.from)
			time.Sleep(10 * ms)
			check("after it moved", c.from.Other())
			group.Wait()
			if free := len(p.cores.free); free != 1 {
				t.Errorf("from the %s: %d processors are free at the end", c.from, free)
			}
		})
	}
}
