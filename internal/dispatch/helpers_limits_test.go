package dispatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// helpersOf returns helpers with n equal queries, and their answers.
func helpersOf(t *testing.T, ctx context.Context, n, slots int) (*helpers, []plan.Answer) {
	t.Helper()
	s := NewSearcher(indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)), nil)
	q, err := s.Prepare(testScratch(t, "whitespace"), plantest.Parse(t, "w0 w1"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	items, answers := make([]batchItem, n), make([]plan.Answer, n)
	for i := range items {
		items[i] = batchItem{query: q, answer: &answers[i]}
	}
	h := new(helpers)
	h.reset(ctx, make(chan struct{}, slots), items, true)
	return h, answers
}

// The GPU may take a query again that it has, and none that a CPU has.
func TestHelpersTake(t *testing.T) {
	h, _ := helpersOf(t, t.Context(), 3, 1)
	h.launch([]int{2, 0, 1})
	for range 2 {
		if !h.Take(0) || h.owners[2].Load() != gpuOwns {
			t.Errorf("item 2 has the owner %d", h.owners[2].Load())
		}
	}
	h.owners[0].Store(cpuOwns)
	if h.Take(1) || !h.answered(0) || !h.settle(0) {
		t.Error("the GPU takes a query that a CPU has")
	}
	if h.settle(1) || h.owners[1].Load() != gpuOwns {
		t.Error("a query that nobody has taken stays open to the CPUs")
	}
}

// After an error no item is taken, and the first error is told.
func TestHelpersFail(t *testing.T) {
	h, answers := helpersOf(t, t.Context(), 2, 1)
	h.add(0)
	h.add(1)
	if i := h.take(); i != 1 {
		t.Errorf("item %d is first, want the last", i)
	}
	h.fail(errAbandoned)
	h.fail(context.Canceled)
	if i := h.take(); i != -1 {
		t.Errorf("item %d is taken after an error", i)
	}
	if err := h.finish(); !errors.Is(err, errAbandoned) || len(answers[0].Hits) > 0 {
		t.Errorf("%v, %d hits", err, len(answers[0].Hits))
	}
}

// The scratch memory of a failed query is not used again; other scratch memory is.
func TestHelpersScratch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h, answers := helpersOf(t, ctx, 2, 1)
	h.add(0)
	h.add(1)
	sc := new(plan.Scratch)
	if more := h.answerNext(sc); !more || h.items[1].err != nil || len(answers[1].Hits) != 10 || reflect.ValueOf(sc).Elem().IsZero() {
		t.Errorf("more %v, %v, %d hits", more, h.items[1].err, len(answers[1].Hits))
	}
	h.ctx = askedContext{ctx, "batchItem).onCPU", cancel}
	if more := h.answerNext(sc); !more || !errors.Is(h.items[0].err, context.Canceled) || len(answers[0].Hits) > 0 || !reflect.ValueOf(sc).Elem().IsZero() {
		t.Errorf("more %v, %v, %d hits", more, h.items[0].err, len(answers[0].Hits))
	}
	h.ctx = t.Context()
	if h.answerNext(sc) {
		t.Error("there is another item")
	}
}

// A helper gives its slot back after maxTurn items, so that other batches come to their turn.
func TestHelpersTurn(t *testing.T) {
	h, _ := helpersOf(t, t.Context(), maxTurn+1, 1)
	for i := range maxTurn + 1 {
		h.add(i)
	}
	sc := new(plan.Scratch)
	if more := h.turn(sc); !more || len(h.left) < 1 || len(h.slots) != 0 { // fewer items if they took long
		t.Errorf("more %v, %d items are left, %d slots are kept", more, len(h.left), len(h.slots))
	}
	for h.turn(sc) {
	}
	if len(h.left) != 0 || len(h.slots) != 0 {
		t.Errorf("%d items are left, %d slots are kept", len(h.left), len(h.slots))
	}
	h.optional = true
	h.slots <- struct{}{}
	if h.add(0); h.turn(sc) || len(h.left) != 1 {
		t.Error("help that is optional waits for a slot")
	}
	<-h.slots
}

// together is a context whose queries wait in a function until n have come there.
func together(t *testing.T, n int64, function string) context.Context {
	var came atomic.Int64
	all := make(chan struct{})
	return askedContext{t.Context(), function, func() {
		if came.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(longWait):
			t.Error("no other query runs")
		}
	}}
}

// The rest of a batch is answered on several CPUs.
func TestHelpersFinishTogether(t *testing.T) {
	h, answers := helpersOf(t, t.Context(), 2, 2)
	h.ctx = together(t, 2, "batchItem).onCPU")
	h.add(0)
	h.add(1)
	if err := h.finish(); err != nil || len(answers[0].Hits) != 10 || len(answers[1].Hits) != 10 {
		t.Errorf("%v, %d and %d hits", err, len(answers[0].Hits), len(answers[1].Hits))
	}
}

// CPUs answer the queries for them while the GPU answers the others.
func TestHelpersBesideGPU(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)), g)
	p.gpu.dispatcher.slots = make(chan struct{}, 2)
	queries, answers := make([]*Query, 2), make([]plan.Answer, 2)
	for i := range queries {
		var err error
		if queries[i], err = p.gpu.Prepare(p.sc, plantest.Parse(t, "w0 w1"), Options{K: 10, CPU: i == 1}); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan struct{})
	var once sync.Once
	onGPU := askedContext{t.Context(), "pipeline.(*View).runOn", func() {
		select {
		case <-answered:
		case <-time.After(longWait):
			t.Error("no CPU begins while the GPU is busy")
		}
	}}
	ctx := askedContext{onGPU, "batchItem).onCPU", func() { once.Do(func() { close(answered) }) }}
	if err := p.gpu.dispatcher.SearchPrepared(ctx, queries, new(BatchScratch), answers); err != nil || answers[0].By != sched.GPU || answers[1].By != sched.CPU {
		t.Errorf("%v, answered by %s and %s", err, answers[0].By, answers[1].By)
	}
}

// Runs whose GPU is closed go on to the CPU, with the reason.
func TestBatchOfRunsOnClosedGPU(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	_, runs, works, _ := batchRuns(t, g)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	outcomes := make([]error, len(works))
	runs[0].RunBatch(t.Context(), works, outcomes)
	for i, r := range runs {
		if !errors.Is(outcomes[i], sched.ErrFailed) || r.gpu.refusal != errGPUClosed.Error() || r.choices[sched.GPU].total != sched.Never {
			t.Errorf("run %d: %v, refused for %q", i, outcomes[i], r.gpu.refusal)
		}
	}
}

// A batch that ends leaves the positions of its runs known; one that panics does not, and gives
// its helpers up.
func TestBatchOfRunsEnds(t *testing.T) {
	for _, panics := range []bool{false, true} {
		g := testGPU(t, pipeline.Options{})
		_, runs, works, _ := batchRuns(t, g)
		if panics {
			runs[3].plan.poison(0)
		}
		if bug := caught(func() { runs[0].RunBatch(t.Context(), works, make([]error, len(works))) }); (bug != nil) != panics {
			t.Fatalf("it panics with %v", bug)
		}
		second := 0
		for i, r := range runs {
			if r.indeterminate != panics {
				t.Errorf("run %d of a batch that panics (%v): indeterminate %v", i, panics, r.indeterminate)
			}
			if r.predictor.stage != r.stage {
				t.Errorf("run %d is at stage %d, and predicts stage %d", i, r.stage, r.predictor.stage)
			}
			second += r.stage
		}
		if err := (<-runs[0].d.led).helpers.err; errors.Is(err, errAbandoned) != panics || second == 0 && !panics {
			t.Errorf("panics %v: helpers %v; %d runs in their second stage", panics, err, second)
		}
	}
}

// CPUs help with a batch of runs if they may, and one is free.
func TestBatchOfRunsHelped(t *testing.T) {
	for _, c := range []struct{ unaided, busy, want bool }{{false, false, true}, {true, false, false}, {false, true, false}, {true, true, false}} {
		g := testGPU(t, pipeline.Options{Lanes: 1})
		g.unaided = c.unaided
		p, d := dispatched(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)), g, Config{Policy: PolicyGPU, CPUs: 1})
		r := describedQuery(t, p, d, "w0 w1", plan.ModeOr)
		var wg sync.WaitGroup
		open := func() {}
		if c.busy {
			open = shut(t, d, sched.CPU, &wg)
		}
		r.RunBatch(t.Context(), []sched.Work{r}, make([]error, 1))
		open()
		wg.Wait()
		if besides := (<-d.led).helpers.besides; besides != c.want {
			t.Errorf("%+v: CPUs help %v", c, besides)
		}
		r.end()
	}
}

// A step of a helper counts for its run.
func TestHelpersCountSteps(t *testing.T) {
	runs, works, want := poolBatch(t, append(slices.Repeat([]query.Node{plantest.Parse(t, "w0 w1 w2 w3")}, 8), frequentBatch(t, rand.New(rand.NewPCG(62, 2)), 4)...))
	outcomes := make([]error, len(works))
	runs[0].RunBatch(t.Context(), works, outcomes)
	onCPU := 0
	for i, r := range runs {
		if outcomes[i] != nil || r.answer.By != sched.CPU {
			continue
		}
		onCPU++
		if checkRun(t, i, r, &want[i]); r.answer.StepsAt[sched.CPU] != 1 || r.last != sched.CPU {
			t.Errorf("run %d: steps at %v", i, r.answer.StepsAt)
		}
	}
	if onCPU == 0 {
		t.Error("no CPU helped")
	}
}
