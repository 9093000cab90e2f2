package exec

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
	"github.com/griffin-search/griffin/internal/sched"
)

// none is less patience than anything takes.
const none = 1e-12

// What the CPU gives up, in whichever mode, the GPU answers as the CPU would have, and the
// trace, the answer and the counts tell.
func TestGivenUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, testSnapshot(t, randomIndex(t, rng, 300, 3, true)), g, DispatchOptions{CPUs: 1})
	d.patience = none
	pool := d.pool
	for i := range 12 {
		if d.pool = pool; i%3 == 0 {
			d.pool = nil
		}
		before := d.Stats()
		a := p.check(t, frequentWords(rng, 1+rng.IntN(4)), Options{Mode: []Mode{ModeAnd, ModeAndOr, ModeOr}[i%3], K: []int{1, 10, 1000}[rng.IntN(3)], Count: i%2 == 0})
		after := d.Stats()
		given := after.GivenUp - before.GivenUp
		if given < 1 || a.Migrations < 1 || a.StepsAt[sched.CPU] < int(given) || a.StepsAt[sched.GPU] < int(given) {
			t.Errorf("query %d: %d given up, %d migrations, steps %v: want each begun on the CPU and done on the GPU", i, given, a.Migrations, a.StepsAt)
		}
	}
	if s := d.Stats().Pool; s == nil || s.Failed != 0 || s.Ended != s.Arrived {
		t.Errorf("pool %+v", s)
	}

	plan, err := p.gpu.Prepare(p.sc, frequentWords(rng, 3), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var trace Trace
	if _, err := plan.RunTraced(t.Context(), p.sc, nil, &trace); err != nil {
		t.Fatal(err)
	}
	steps := slices.DeleteFunc(trace.Steps, func(s Step) bool { return s.Name == stepWait })
	if len(steps) != 2 || steps[0].Name != stepGivenUp || steps[0].Processor != cpu || steps[0].Predicted == 0 || steps[1].Place != sched.GPU || trace.Migrations != 1 || steps[0].PostingsDecoded == 0 {
		t.Errorf("want what was given up, with its work, then the GPU:\n%s", &trace)
	}
	if notes := strings.Join(trace.Notes, "\n"); !strings.Contains(notes, "cost, or: given up on the cpu; ") {
		t.Errorf("notes:\n%s", notes)
	}
}

// Who has patience, nowhere to go, or another policy stays.
func TestNotGivenUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(72, 1))
	snapshot := testSnapshot(t, randomIndex(t, rng, 300, 3, true))
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
		p, d := dispatched(t, snapshot, c.g, DispatchOptions{Policy: c.policy, Admit: true})
		d.patience = c.patience
		for i := range 6 {
			p.check(t, frequentWords(rng, 3), Options{Mode: []Mode{ModeAnd, ModeAndOr, ModeOr}[i%3], K: 10})
		}
		if s := d.Stats(); s.GivenUp != 0 {
			t.Errorf("%s: %d given up", c.name, s.GivenUp)
		}
	}
}

// If the GPU does not do what the CPU gave up, the CPU does it after all.
func TestGivenUpForNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 1))
	snapshot := testSnapshot(t, randomIndex(t, rng, 300, 3, true))
	for _, code := range []cuda.Code{cuda.LaunchOutOfResources, cuda.IllegalAddress} {
		var faults cuda.Faults
		e, err := pipeline.Open(pipeline.Options{
			Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults,
		})
		if err != nil {
			t.Fatal(err)
		}
		p, d := dispatched(t, snapshot, newGPU(e), DispatchOptions{MaxQueue: -1})
		d.patience = none
		faults.Fail("cuLaunchKernel", 1, code)
		for i := range 3 {
			p.check(t, frequentWords(rng, 3), Options{Mode: []Mode{ModeAnd, ModeAndOr, ModeOr}[i], K: 10, Count: true})
			// It comes back with what it is predicted to take there, not with what it was
			// reckoned to so that it would stay away.
			if r := &p.sc.placed; i == 0 && (r.job.Place != sched.CPU || r.job.Cost[sched.CPU] != r.choices[sched.CPU].total) {
				t.Errorf("%v: at the %s, which is to take %v, not %v", code, r.job.Place, r.job.Cost[sched.CPU], r.choices[sched.CPU].total)
			}
		}
		s := d.Stats()
		if s.GivenUp < 1 || s.Pool.Failed < 1 || s.Pool.Ended != 3 {
			t.Errorf("%v: %d given up; pool %+v", code, s.GivenUp, s.Pool)
		}
		_ = d.Close() // it may be lost
	}
}

// Of a run that has moved, in whichever stage, the pool is told what the CPU is to take of
// what the GPU fails at: what it knew was of when the run came, or reckoned.
func TestRefusedAfterMove(t *testing.T) {
	p, d := dispatched(t, testSnapshot(t, spacedIndex(t, 100, 2, 3)), testGPU(t, pipeline.Options{}), DispatchOptions{})
	plan, err := p.gpu.Prepare(p.sc, parse(t, "e2 e3"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, moves := range []int{0, 1} {
		r := &p.sc.placed
		r.begin(d, plan, p.sc, nil, nil)
		r.decide()
		r.job.Moves, r.job.Cost[sched.CPU] = moves, unwanted
		if err := r.refuse(errors.New("no")); !errors.Is(err, sched.ErrFailed) {
			t.Errorf("%d moves: %v", moves, err)
		}
		if told := r.job.Cost[sched.CPU] == r.choices[sched.CPU].total; told != (moves > 0) {
			t.Errorf("%d moves: the CPU is to take %v; the pool knows of %v", moves, r.choices[sched.CPU].total, r.job.Cost[sched.CPU])
		}
		r.end()
	}
}

// A patience ends with its context first, stays over once it is, and grows with the queue
// of the GPU.
func TestPatience(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, testSnapshot(t, spacedIndex(t, 100, 2, 3)), g, DispatchOptions{})
	plan, err := p.gpu.Prepare(p.sc, parse(t, "e2 e3"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	r := &p.sc.placed
	r.begin(d, plan, p.sc, nil, nil)
	defer r.end()
	r.decide()
	gpu := &r.choices[sched.GPU]

	ctx, cancel := context.WithCancel(t.Context())
	of := r.patient(ctx).(*patience)
	gpu.total = time.Hour
	for range 3 {
		if err := of.Err(); err != nil {
			t.Errorf("two hours are over: %v", err)
		}
	}
	of.limit, gpu.total = 0, 0
	if err := of.Err(); !errors.Is(err, errImpatient) {
		t.Errorf("with a GPU that takes no time: %v", err)
	}
	gpu.total = time.Hour
	if err := of.Err(); !errors.Is(err, errImpatient) {
		t.Errorf("it was over before: %v", err)
	}
	of = r.patient(ctx).(*patience)
	cancel()
	if err := of.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}

	// What the GPU takes was not looked at: it is after twice what the quickest GPU takes.
	of = r.patient(t.Context()).(*patience)
	gpu.total = sched.Never
	if err := of.Err(); err != nil || of.limit != defaultPatience*quick {
		t.Errorf("%v, limit %v", err, of.limit)
	}
	of.began = time.Now().Add(-defaultPatience * quick)
	if err := of.Err(); err != nil && !errors.Is(err, errImpatient) || !of.asked || gpu.total == sched.Never || of.limit != defaultPatience*gpu.total {
		t.Errorf("%v, limit %v, the GPU takes %v", err, of.limit, gpu.total)
	}
}

// BenchmarkPatience is a look at a context with and without patience.
func BenchmarkPatience(b *testing.B) {
	r := &placedRun{d: &Dispatcher{patience: defaultPatience, policy: PolicyCost}, plan: &Plan{}}
	r.choices[sched.GPU].total = time.Hour
	for _, ctx := range []context.Context{b.Context(), r.patient(b.Context())} {
		b.Run(map[bool]string{true: "with", false: "without"}[ctx != b.Context()], func(b *testing.B) {
			for b.Loop() {
				if ctx.Err() != nil {
					b.Fatal(ctx.Err())
				}
			}
		})
	}
}
