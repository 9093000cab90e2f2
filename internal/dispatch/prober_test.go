package dispatch

import (
	"context"
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// newProber begins the conjunction "e1 e2 e3" over two segments of 1280 documents; the lists
// have 854, 1280 and 2560 documents, and the first two 427 in common.
func newProber(t *testing.T, g *GPU) (*Prober, *reference) {
	t.Helper()
	p, err := NewProber(g, indextest.Snapshot(t, segmentedIndex(t, 1280, 1, 2, 3)))
	if err != nil {
		t.Fatal(err)
	}
	q, err := p.Prepare(plantest.Parse(t, "e1 e2 e3"), Options{Mode: plan.ModeAnd, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	p.Begin(q)
	t.Cleanup(func() {
		if p.run.d != nil {
			p.End()
		}
	})
	return p, &reference{&p.run.predictor, p.searcher.dispatcher.costs}
}

// progress of a Prober through a conjunction.
type progress struct{ lists, left int }

func (p *Prober) progress() progress {
	lists, left := p.Done()
	return progress{lists, left}
}

func TestProberErrors(t *testing.T) {
	snapshot := indextest.Snapshot(t, segmentedIndex(t, 10, 1))
	if p, err := NewProber(&GPU{lanes: -1}, snapshot); err == nil || p != nil {
		t.Errorf("a GPU of -1 lanes: %v, %v", p, err)
	}
	analyzer := snapshot.Options.Analyzer
	defer func() { snapshot.Options.Analyzer = analyzer }()
	snapshot.Options.Analyzer = ""
	if p, err := NewProber(nil, snapshot); err == nil || p != nil {
		t.Errorf("no analyzer: %v, %v", p, err)
	}
}

// The steps on the CPU have the predictions of a query with the same progress, from the actual candidates.
func TestProberOnCPU(t *testing.T) {
	p, r := newProber(t, nil)
	if p.HasGPU() || p.IsAttached() || !p.Splits() || p.Kind(sched.CPU) != cost.CPUAnd {
		t.Errorf("GPU %v, attached %v, splits %v, kind %v", p.HasGPU(), p.IsAttached(), p.Splits(), p.Kind(sched.CPU))
	}
	whole := p.WholeStep()
	if want := stepOf(3, pipeline.PathAuto, r.work(cost.CPUAnd, r.whole)); !sameStep(&whole, &want) {
		t.Errorf("the whole is %+v, want %+v", whole, want)
	}
	for to, want := range []progress{{}, {1, 854}, {2, 427}, {3, 427}} {
		if to > 0 {
			from := p.progress()
			s := p.CPULists(to)
			if want := stepOf(to, pipeline.PathAuto, r.cpuLists(to-1, to)...); !sameStep(&s, &want) || r.done != from.lists || r.candidates != int64(from.left) {
				t.Errorf("list %d, after %+v: %+v, want %+v", to, from, s, want)
			}
			if took, err := p.Run(t.Context(), sched.CPU, &s); err != nil || took <= 0 {
				t.Errorf("list %d: %v, %v", to, took, err)
			}
		}
		if got := p.progress(); got != want {
			t.Errorf("after %d lists: %+v, want %+v", to, got, want)
		}
	}
	p.Rewind()
	if again := p.WholeStep(); !sameStep(&again, &whole) || p.progress() != (progress{}) {
		t.Errorf("from the beginning again: %+v at %+v, want %+v", again, p.progress(), whole)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := p.CPULists(2)
	if _, err := p.Run(ctx, sched.CPU, &s); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// The steps on the GPU have the predictions of a query with the same progress, for the present forms of its lists.
func TestProberOnGPU(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p, r := newProber(t, g)
	if !p.HasGPU() || p.IsAttached() || !p.Attach() || !p.IsAttached() {
		t.Fatalf("GPU %v, attached %v", p.HasGPU(), p.IsAttached())
	}
	if p.run.interrupt(t.Context()) != t.Context() {
		t.Error("a step that is measured may end early")
	}
	l := p.Locate()
	if l != p.Located() || len(l.Forms) != 6 || l.BytesImage == 0 || !l.Packed {
		t.Fatalf("located %+v", l)
	}
	check := func(what string, got, want Step) {
		t.Helper()
		if !sameStep(&got, &want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	check("packed", p.PackedStep(), r.wholePackedStep())
	check("lists", p.GPULists(2), stepOf(2, pipeline.PathPacked, r.gpuLists(0, 2)...))

	first := p.CPULists(2)
	if _, err := p.Run(t.Context(), sched.CPU, &first); err != nil {
		t.Fatal(err)
	}
	rest := p.GPULists(3)
	if check("the rest", rest, stepOf(3, pipeline.PathPacked, r.gpuLists(2, 3)...)); r.done != 2 || r.candidates != 427 {
		t.Errorf("the rest begins after %d lists with %d candidates", r.done, r.candidates)
	}
	if took, err := p.TryOnGPU(t.Context(), &rest); err != nil || took <= 0 || p.progress() != (progress{2, 427}) {
		t.Errorf("the rest: %v, %v; the query is at %+v", took, err, p.progress())
	}
	if p.run.answer.By != sched.GPU || len(p.run.answer.Hits) != 10 {
		t.Errorf("%d hits of the %s", len(p.run.answer.Hits), p.run.answer.By)
	}
	p.Rewind()

	queries := []*pipeline.Query{p.GPUQuery()}
	if p.HaveImages(queries) {
		t.Error("images are there before any run by images")
	}
	images := p.ImagesStep()
	check("images", images, stepOf(3, pipeline.PathImages, Prediction{cost.GPUImagesAnd, r.whole, 0}))
	if _, err := p.Run(t.Context(), sched.GPU, &images); err != nil || p.run.answer.Traversal != TraversalGPU {
		t.Errorf("by images: answered by %s, %v", p.run.answer.Traversal, err)
	}
	if p.Rewind(); !p.HaveImages(queries) {
		t.Errorf("no images after a run by images: %+v", p.Located())
	}
	if p.Locate(); p.Located().BytesImage != 0 || p.Missing() != (cost.Features{}) {
		t.Errorf("after a run by images: %+v, missing %+v", p.Located(), p.Missing())
	}
	results := []pipeline.Result{{}, {}}
	if err := p.RunTogether(t.Context(), append(queries, queries...), results); err != nil || len(results[1].Hits) != 10 {
		t.Errorf("together: %v, %+v", err, results)
	}
	if p.End(); p.IsAttached() {
		t.Error("a query that has ended holds the GPU")
	}
}

// A Prober does without a GPU that is closed.
func TestProberOfClosedGPU(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p, _ := newProber(t, g)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if p.Attach() || p.IsAttached() {
		t.Error("it attaches to a GPU that is closed")
	}
	s := p.ImagesStep()
	if _, err := p.Run(t.Context(), sched.GPU, &s); !errors.Is(err, sched.ErrFailed) {
		t.Errorf("on a GPU that is closed: %v", err)
	}
}

// Lists that a query has read over the bus are on the GPU after WaitForPromotions.
func TestProberWaitsForPromotions(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p, err := NewProber(g, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 20000)))
	if err != nil {
		t.Fatal(err)
	}
	q, err := p.Prepare(&query.Words{Text: "w0 w1 w2 w3", Boost: 1}, Options{Mode: plan.ModeAnd, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	p.Begin(q)
	defer p.End()
	if !p.Attach() || p.Locate().BytesFile == 0 {
		t.Fatalf("located %+v", p.Located())
	}
	s := p.PackedStep()
	if _, err := p.Run(t.Context(), sched.GPU, &s); err != nil {
		t.Fatal(err)
	}
	p.WaitForPromotions()
	if l := p.Locate(); l.BytesHost != 0 {
		t.Errorf("lists are not on the GPU: %+v", l)
	}
}
