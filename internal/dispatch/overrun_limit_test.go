package dispatch

import (
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
)

// overrunning returns a run of policy cost on a GPU with one lane, and its check of overruns.
func overrunning(t *testing.T, g *GPU) (*queryRun, *Dispatcher, *overrun) {
	t.Helper()
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 1000, 2, 3)), g, Config{})
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3"), Options{Mode: plan.ModeOr, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	r := &p.sc.run
	r.begin(t.Context(), d, q, p.sc, nil, nil)
	t.Cleanup(func() {
		if r.d != nil {
			r.end()
		}
	})
	r.decide()
	o := r.interrupt(t.Context()).(*overrun)
	return r, d, o
}

// The first limit is twice the predicted time on the GPU. Until it has passed, the queue of the
// GPU is not looked at; then the present time on the GPU counts.
func TestOverrunChecks(t *testing.T) {
	r, _, o := overrunning(t, testGPU(t, pipeline.Options{Lanes: 1}))
	gpu := &r.choices[sched.GPU]
	gpu.total = time.Hour
	if err := o.Err(); err != nil || o.limit != 2*time.Hour {
		t.Errorf("at first: %v, limit %v", err, o.limit)
	}
	gpu.total = 3 * time.Hour
	if err := o.Err(); err != nil || o.limit != 2*time.Hour || o.asked {
		t.Errorf("before the limit: %v, limit %v, asked %v", err, o.limit, o.asked)
	}
	o.limit = 0
	if err := o.Err(); err != nil || o.limit != 6*time.Hour || !o.asked || o.isOver {
		t.Errorf("after a limit that has grown: %v, limit %v, asked %v, over %v", err, o.limit, o.asked, o.isOver)
	}
}

// The limit has the queue of the GPU; there is none without a GPU, or with one that is lost.
func TestOverrunLimitOfQueue(t *testing.T) {
	r, d, o := overrunning(t, testGPU(t, pipeline.Options{Lanes: 1}))
	gpu := &r.choices[sched.GPU]
	gpu.total = time.Millisecond
	if limit := o.limitNow(); limit != 2*time.Millisecond {
		t.Errorf("with an idle GPU: %v", limit)
	}
	var wg sync.WaitGroup
	open := busyGPU(t, d, time.Hour, &wg)
	if limit := o.limitNow(); limit < time.Hour {
		t.Errorf("with an hour's queue: %v", limit)
	}
	r.overrun.noted, r.overrun.began = true, time.Now()
	chooseAfterOverrun(r)
	if cpu := r.choices[sched.CPU].total; cpu < 3*time.Hour {
		t.Errorf("with an hour's queue, the CPU is to take %v", cpu)
	}
	open()
	wg.Wait()
	d.pool.Lose(sched.GPU)
	gpu.total = time.Millisecond
	if limit := o.limitNow(); limit != sched.Never {
		t.Errorf("with a GPU that is lost: %v", limit)
	}
	checkStaysOnCPU(t, r)
}

// checkStaysOnCPU checks that a query that has overrun stays on the CPU, with its exact time.
func checkStaysOnCPU(t *testing.T, r *queryRun) {
	t.Helper()
	r.overrun.noted, r.overrun.began = true, time.Now()
	r.choices[sched.CPU].is(99, pipeline.PathImages, 1)
	r.choices[sched.GPU].is(2, pipeline.PathImages, 1)
	chooseAfterOverrun(r)
	var want Step
	if r.predictor.wholeOn(&want, sched.CPU); !sameStep(&r.choices[sched.CPU], &want) || r.choices[sched.GPU].total != sched.Never {
		t.Errorf("choices %+v, want %+v", r.choices, want)
	}
}

// busyGPU keeps the only lane busy with a job of a predicted time.
func busyGPU(t *testing.T, d *Dispatcher, predicted time.Duration, wg *sync.WaitGroup) (open func()) {
	t.Helper()
	door := &gate{make(chan struct{}), make(chan struct{})}
	wg.Go(func() {
		j := sched.Job{Alone: true, Cost: [sched.NumPlaces]time.Duration{sched.CPU: sched.Never, sched.GPU: predicted}}
		if err := d.pool.Do(t.Context(), &j, door); err != nil {
			t.Error(err)
		}
	})
	<-door.entered
	return func() { close(door.open) }
}

// A query whose GPU is closed has no limit, and stays on the CPU after an overrun.
func TestOverrunWithoutGPU(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	r, d, _ := overrunning(t, g)
	q, sc := r.plan, r.sc
	r.end()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	r.begin(t.Context(), d, q, sc, nil, nil)
	r.describe()
	r.choices[sched.GPU].never()
	o := r.interrupt(t.Context()).(*overrun)
	if limit := o.limitNow(); limit != sched.Never || !o.asked {
		t.Errorf("limit %v, asked %v", limit, o.asked)
	}
	checkStaysOnCPU(t, r)
}

// After an overrun, the choice of the CPU is the whole stage, at four times the time of the GPU
// with its queue or more.
func TestChoicesAfterOverrun(t *testing.T) {
	r, _, _ := overrunning(t, testGPU(t, pipeline.Options{Lanes: 1}))
	r.overrun.noted, r.overrun.began = true, time.Now()
	r.choices[sched.CPU].is(99, pipeline.PathImages, 1)
	r.choices[sched.GPU].is(99, pipeline.PathAuto, 1)
	chooseAfterOverrun(r)
	cpu, gpu := &r.choices[sched.CPU], &r.choices[sched.GPU]
	if cpu.to != 2 || cpu.path != pipeline.PathAuto || gpu.to != 2 || gpu.total == sched.Never || cpu.total < 4*gpu.total {
		t.Errorf("choices %+v", r.choices)
	}
}

// An overrun teaches that the step takes at least that time.
func TestOverrunTeaches(t *testing.T) {
	r, d, _ := overrunning(t, testGPU(t, pipeline.Options{Lanes: 1}))
	var s Step
	s.begin(2, pipeline.PathAuto)
	s.add(cost.CPUOr, &r.predictor.whole, 1)
	before := d.costs.Unsaved()
	r.overrun.began = time.Now().Add(-time.Second)
	r.noteOverrun(&s)
	if got := d.costs.Unsaved() - before; got != 1 || !r.overrun.noted || d.Stats().Restarted != 1 || r.answer.StepsAt[sched.CPU] != 1 {
		t.Errorf("%d observations, noted %v, %+v", got, r.overrun.noted, d.Stats())
	}
}
