package dispatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// none is less patience than anything takes.
const none = 1e-12

// The answer is the same in any mode; trace, answer and counts show the restart.
func TestOverrunRestartsOnGPU(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 3, true)), g, Config{CPUs: 1})
	d.overrunFactor = none
	pool := d.pool
	for i := range 12 {
		if d.pool = pool; i%3 == 0 {
			d.pool = nil
		}
		before := d.Stats()
		a := p.check(t, frequentWords(rng, 1+rng.IntN(4)), Options{Mode: []plan.Mode{plan.ModeAnd, plan.ModeAndOr, plan.ModeOr}[i%3], K: []int{1, 10, 1000}[rng.IntN(3)], Count: i%2 == 0})
		after := d.Stats()
		given := after.Restarted - before.Restarted
		if given < 1 || a.Migrations < 1 || a.StepsAt[sched.CPU] < int(given) || a.StepsAt[sched.GPU] < int(given) {
			t.Errorf("query %d: %d restarted, %d migrations, steps %v: want each begun on the CPU and done on the GPU", i, given, a.Migrations, a.StepsAt)
		}
	}
	if s := d.Stats().Pool; s == nil || s.Failed != 0 || s.Ended != s.Arrived {
		t.Errorf("pool %+v", s)
	}

	prepared, err := p.gpu.Prepare(p.sc, frequentWords(rng, 3), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var trace plan.Trace
	if _, err := prepared.RunTraced(t.Context(), p.sc, nil, &trace); err != nil {
		t.Fatal(err)
	}
	steps := slices.DeleteFunc(trace.Steps, func(s plan.Step) bool { return s.Name == plan.StepWait })
	if len(steps) != 2 || steps[0].Name != plan.StepOverrun || steps[0].Processor != plan.CPUName || steps[0].Predicted == 0 || steps[1].Place != sched.GPU || trace.Migrations != 1 || steps[0].PostingsDecoded == 0 {
		t.Errorf("want the overrun step with its work, then the GPU:\n%s", &trace)
	}
	if notes := strings.Join(trace.Notes, "\n"); !strings.Contains(notes, "cost, or: overran on the cpu; ") {
		t.Errorf("notes:\n%s", notes)
	}
}

// A query stays on the CPU without a limit, without a GPU, or with another policy.
func TestNoOverrun(t *testing.T) {
	rng := rand.New(rand.NewPCG(72, 1))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 3, true))
	g := testGPU(t, pipeline.Options{})
	for _, c := range []struct {
		name     string
		g        *GPU
		policy   Policy
		patience float64
	}{
		{"patience", g, PolicyCost, 1e9},
		{"without a GPU", nil, PolicyCost, none},
		{"cpu", g, PolicyCPU, none},
		{"gpu", g, PolicyGPU, none},
		{"ratio", g, PolicyRatio, none},
		{"query", g, PolicyQuery, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, d := dispatched(t, snapshot, c.g, Config{Policy: c.policy, Admit: true})
			d.overrunFactor = c.patience
			for i := range 6 {
				p.check(t, frequentWords(rng, 3), Options{Mode: []plan.Mode{plan.ModeAnd, plan.ModeAndOr, plan.ModeOr}[i%3], K: 10})
			}
			if s := d.Stats(); s.Restarted != 0 {
				t.Errorf("%s: %d restarted", c.name, s.Restarted)
			}
		})
	}
}

func TestOverrunWhenGPUFails(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 1))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 3, true))
	for _, code := range []cuda.Code{cuda.LaunchOutOfResources, cuda.IllegalAddress} {
		var faults cuda.Faults
		e, err := pipeline.Open(pipeline.Options{
			Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults,
		})
		if err != nil {
			t.Fatal(err)
		}
		p, d := dispatched(t, snapshot, NewGPU(e), Config{MaxQueue: -1})
		d.overrunFactor = none
		faults.Fail("cuLaunchKernel", 1, code)
		for i := range 3 {
			p.check(t, frequentWords(rng, 3), Options{Mode: []plan.Mode{plan.ModeAnd, plan.ModeAndOr, plan.ModeOr}[i], K: 10, Count: true})
			// It returns with its prediction, not with the raised one that kept it away.
			if r := &p.sc.run; i == 0 && (r.job.Place != sched.CPU || r.job.Cost[sched.CPU] != r.choices[sched.CPU].total) {
				t.Errorf("%v: at the %s, which is to take %v, not %v", code, r.job.Place, r.job.Cost[sched.CPU], r.choices[sched.CPU].total)
			}
		}
		s := d.Stats()
		if s.Restarted < 1 || s.Pool.Failed < 1 || s.Pool.Ended != 3 {
			t.Errorf("%v: %d restarted; pool %+v", code, s.Restarted, s.Pool)
		}
		_ = d.Close() // it may be lost
	}
}

// The pool gets a new prediction for the CPU: the old one is of the run's arrival, or raised.
func TestRefusedAfterMove(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 100, 2, 3)), testGPU(t, pipeline.Options{}), Config{})
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, moves := range []int{0, 1} {
		r := &p.sc.run
		r.begin(t.Context(), d, prepared, p.sc, nil, nil)
		r.decide()
		r.job.Moves, r.job.Cost[sched.CPU] = moves, lastResort
		if err := r.refuse(errors.New("no")); !errors.Is(err, sched.ErrFailed) {
			t.Errorf("%d moves: %v", moves, err)
		}
		if told := r.job.Cost[sched.CPU] == r.choices[sched.CPU].total; told != (moves > 0) {
			t.Errorf("%d moves: the CPU is to take %v; the pool knows of %v", moves, r.choices[sched.CPU].total, r.job.Cost[sched.CPU])
		}
		r.end()
	}
}

// An overrun check ends with its context first and stays over; its limit grows with the queue
// of the GPU.
func TestOverrunLimit(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 100, 2, 3)), g, Config{})
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	r := &p.sc.run
	r.begin(t.Context(), d, prepared, p.sc, nil, nil)
	defer r.end()
	r.decide()
	gpu := &r.choices[sched.GPU]

	ctx, cancel := context.WithCancel(t.Context())
	of := r.interrupt(ctx).(*overrun)
	gpu.total = time.Hour
	for range 3 {
		if err := of.Err(); err != nil {
			t.Errorf("two hours are over: %v", err)
		}
	}
	of.limit, gpu.total = 0, 0
	if err := of.Err(); !errors.Is(err, errOverrun) {
		t.Errorf("with a GPU that takes no time: %v", err)
	}
	gpu.total = time.Hour
	if err := of.Err(); !errors.Is(err, errOverrun) {
		t.Errorf("it was over before: %v", err)
	}
	of = r.interrupt(ctx).(*overrun)
	cancel()
	if err := of.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}

	// The GPU's time is not predicted yet: the limit is twice minGPUTime.
	of = r.interrupt(t.Context()).(*overrun)
	gpu.total = sched.Never
	if err := of.Err(); err != nil || of.limit != defaultOverrunFactor*minGPUTime {
		t.Errorf("%v, limit %v", err, of.limit)
	}
	of.began = time.Now().Add(-defaultOverrunFactor * minGPUTime)
	if err := of.Err(); err != nil && !errors.Is(err, errOverrun) || !of.asked || gpu.total == sched.Never || of.limit != defaultOverrunFactor*gpu.total {
		t.Errorf("%v, limit %v, the GPU takes %v", err, of.limit, gpu.total)
	}
}

// BenchmarkInterrupt checks overruns, and a context for comparison.
func BenchmarkInterrupt(b *testing.B) {
	r := &queryRun{d: &Dispatcher{overrunFactor: defaultOverrunFactor}, plan: &Query{}, policy: costPolicy{}}
	r.choices[sched.GPU].total = time.Hour
	for name, stop := range map[string]traverse.Interrupt{"overrun": r.interrupt(b.Context()), "context": b.Context()} {
		b.Run("of="+name, func(b *testing.B) {
			for b.Loop() {
				if stop.Err() != nil {
					b.Fatal(stop.Err())
				}
			}
		})
	}
}
