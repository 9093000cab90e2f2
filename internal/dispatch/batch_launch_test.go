package dispatch

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

// runOf describes the first stage of a query with memory of its own.
func runOf(t *testing.T, p *gpuPair, d *Dispatcher, text string, mode plan.Mode) *queryRun {
	t.Helper()
	own := *p
	own.sc = testScratch(t, "whitespace")
	r := describedQuery(t, &own, d, text, mode)
	t.Cleanup(r.end)
	return r
}

// The work of a launch is known if all queries have the same kind and lists on the GPU.
func TestBatchFeatures(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2, 3)), nil, Config{Admit: true})
	b := &batch{now: []int{0, 2, 3}}
	for _, f := range []cost.Features{
		{Lists: 2, K: 10, Shortest: 1, Second: 20, Longest: 300, Sum: 4000, Essential: 50_000, Batch: 1},
		{Lists: 99, K: 99, Shortest: 99, Second: 99, Longest: 99, Sum: 99, Essential: 99, Batch: 1}, // not of this launch
		{Lists: 3, K: 1000, Shortest: 2, Second: 30, Longest: 400, Sum: 5000, Essential: 60_000, Batch: 1},
		{Lists: 4, K: 100, Shortest: 4, Second: 50, Longest: 600, Sum: 7000, Essential: 80_000, Batch: 1},
	} {
		r := runOf(t, p, d, "e1 e2", plan.ModeAnd)
		r.predictor.whole, r.predictor.isLocated = f, true
		b.items = append(b.items, batchItem{run: r, query: r.plan})
	}
	want := cost.Features{Lists: 9, K: 1000, Shortest: 7, Second: 100, Longest: 1300, Sum: 16_000, Essential: 190_000, Batch: 3}
	if kind, got, known := b.features(); !known || kind != cost.GPUImagesAnd || got != want {
		t.Errorf("%v, %+v, known %v; want %+v", kind, got, known, want)
	}
	last := &b.items[3].run.predictor
	for name, change := range map[string]func(){
		"not located":    func() { last.isLocated = false },
		"missing images": func() { last.located.BytesImage = 1 },
		"another kind": func() {
			b.items[3].run = runOf(t, p, d, "e1 e2", plan.ModeOr)
			b.items[3].run.predictor.isLocated = true
		},
		"no runs": func() { b.items[0].run = nil },
	} {
		t.Run(name, func(t *testing.T) {
			before, run, items := *last, b.items[3].run, b.items[0]
			change()
			if _, _, known := b.features(); known {
				t.Error("the work is known")
			}
			*last, b.items[3].run, b.items[0] = before, run, items
		})
	}
}

// A launch that answers all of its queries teaches the model, once; no other does.
func TestBatchLaunchTeaches(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		memory int64
		fails  bool
		learnt uint64
	}{
		{name: "answered", ctx: t.Context(), memory: testMemory, learnt: 1},
		{name: "its context has ended", ctx: ended, memory: testMemory},
		{name: "the launch fails", ctx: t.Context(), memory: testMemory, fails: true},
		{name: "the CPUs answer", ctx: t.Context(), memory: 16 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			var faults cuda.Faults
			g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: c.memory}, Lanes: 1, Faults: &faults})
			p, d := dispatched(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "ef", 6000)), g, Config{Policy: PolicyGPU}) // the GPU needs images
			if c.fails {
				faults.Fail("cuLaunchKernel", 1, cuda.LaunchOutOfResources)
			}
			var b batch
			for i := range 2 {
				r := runOf(t, p, d, "w0 w1 w2 w3", plan.ModeOr)
				if err := r.attach(); err != nil {
					t.Fatal(err)
				}
				r.predictor.isLocated = true
				b.items = append(b.items, batchItem{run: r, query: r.plan, view: r.gpu.view, answer: &r.answer})
				b.waiting = append(b.waiting, i)
			}
			b.helpers.reset(t.Context(), d.batchSlots(), b.items, true)
			b.next()
			b.launch(c.ctx, g, d.costs)
			if err := b.helpers.wait(); err != nil {
				t.Fatal(err)
			}
			if got := d.costs.Unsaved(); got != c.learnt {
				t.Errorf("%d launches are learnt of, want %d", got, c.learnt)
			}
			onCPU, refused := 0, 0
			for i := range b.items {
				it := &b.items[i]
				if b.helpers.answered(i) {
					onCPU++
				}
				if it.refused != nil {
					refused++
				}
				if errors.Is(it.err, context.Canceled) != (c.ctx == ended) || (it.err == nil && it.refused == nil) != (len(it.answer.Hits) == 10) {
					t.Errorf("item %d: %d hits, error %v, refused for %v", i, len(it.answer.Hits), it.err, it.refused)
				}
			}
			if helped := c.memory < testMemory; helped != (onCPU > 0) || c.fails != (refused > 0) {
				t.Errorf("%d queries are answered by CPUs, and %d refused", onCPU, refused)
			}
		})
	}
}

// A run in a batch keeps the path that was chosen for it.
func TestBatchKeepsPath(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2)), nil, Config{Admit: true})
	for _, path := range []pipeline.Path{pipeline.PathAuto, pipeline.PathImages} {
		r := runOf(t, p, d, "e1 e2", plan.ModeOr)
		r.choices[1].is(2, path, 1)
		it := batchItem{run: r, query: r.plan}
		if it.prepare(); it.gpu.Path != path || it.gpu.NumTerms != 2 {
			t.Errorf("%s: %+v", path, it.gpu)
		}
	}
}

// An item that fails on a CPU keeps its answer, with the memory of former hits.
func TestBatchItemFails(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2)), nil, Config{Admit: true})
	r := runOf(t, p, d, "e1 e2", plan.ModeOr)
	hits := []base.Hit{{Score: 1}}
	former := plan.Answer{Hits: hits, Matches: 7}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	it := batchItem{query: r.plan, answer: &former}
	if err := it.onCPU(ctx, &r.sc.Scratch); !errors.Is(err, context.Canceled) || !slices.Equal(former.Hits, hits) || former.Matches != 7 {
		t.Errorf("%v, answer %+v", err, former)
	}
	if err := it.onCPU(t.Context(), &r.sc.Scratch); err != nil || len(former.Hits) != 10 {
		t.Errorf("%v, answer %+v", err, former)
	}
}
