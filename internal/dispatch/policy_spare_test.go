package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
)

// While no CPU is spare, policy cost leaves queries that take a CPU for long to the GPU, and plans them for
// it whole; the answer is the same.
func TestCostLeavesBusyCPUs(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, spacedIndex(t, 30000, 2, 3, 4, 5, 6, 7))
	if _, _, err := g.Warm(t.Context(), snapshot, WarmOptions{}); err != nil {
		t.Fatal(err)
	}
	p, d := dispatched(t, snapshot, g, Config{CPUs: 1})
	slowCPU(d)
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd} {
		prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3 e4 e5"), Options{Mode: mode, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		decide := func() (cpu time.Duration, leaves, whole bool, first sched.Place) {
			r := &p.sc.run
			r.begin(t.Context(), d, prepared, p.sc, nil, nil)
			defer r.end()
			r.decide()
			r.offer(false)
			if r.job.Patient != r.predictor.leavesCPU {
				t.Error("the job is not what the query decides")
			}
			return r.choices[sched.CPU].total, r.predictor.leavesCPU, r.choices[sched.GPU].to == len(r.predictor.lengths), r.first()
		}
		if cpu, leaves, _, _ := decide(); leaves || cpu <= feedingTime {
			t.Fatalf("%s: idle processors: it leaves the CPU is %t, and %v there; want more than %v", mode, leaves, cpu, feedingTime)
		}
		door := &gate{make(chan struct{}), make(chan struct{})}
		held := make(chan error, 1)
		go func() {
			j := sched.Job{Alone: true, Admitted: true}
			j.Cost[sched.CPU], j.Cost[sched.GPU] = time.Millisecond, sched.Never
			held <- d.pool.Do(context.Background(), &j, door)
		}()
		<-door.entered
		if cpu, leaves, whole, first := decide(); !leaves || !whole || first != sched.GPU || cpu >= lastResort {
			t.Errorf("%s: a busy CPU: it leaves it is %t, whole is %t, first the %s, %v on the CPU; want a whole query for the GPU", mode, leaves, whole, first, cpu)
		}
		got := answer(t, p.gpu, p.sc, plantest.Parse(t, "e2 e3 e4 e5"), Options{Mode: mode, K: 10})
		if got.By != sched.GPU {
			t.Errorf("%s: answered by the %s", mode, got.By)
		}
		close(door.open)
		if err := <-held; err != nil {
			t.Error(err)
		}
		p.check(t, plantest.Parse(t, "e2 e3 e4 e5"), Options{Mode: mode, K: 10})
	}
	checkClose(t, d)
}
