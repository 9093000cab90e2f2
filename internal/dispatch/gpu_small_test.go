package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// commitsIndex has a segment of each number of documents, many of them equal, some deleted.
func commitsIndex(t testing.TB, rng *rand.Rand, sizes ...int) *index.Index {
	return indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		id := 0
		for _, n := range sizes {
			first := id
			for range n {
				w.Add(&corpus.Document{ID: fmt.Sprint(id), Text: plantest.RandomWords(rng, 1+rng.IntN(3)*rng.IntN(8))})
				id++
			}
			for range n / 20 {
				w.Delete(first + rng.IntN(n))
			}
			w.Commit()
		}
	})
}

// The CPU answers the small segments, the GPU the others. Hits, ties, counts and the fallback of AND+OR are as on the CPU alone: in every mode, alone, in batches, and in steps at any place.
func TestSmallSegments(t *testing.T) {
	orders := [][]int{{40, 300, 20, 250, 10, 30}, {300, 30, 30}, {20, 30, 400}, {120}}
	for _, sizes := range sampletest.Some(t, 2, orders) {
		for _, reordered := range []bool{false, true} {
			t.Run(fmt.Sprint(sizes, reordered), func(t *testing.T) { checkSmallSegments(t, sizes, reordered) })
		}
	}
}

func checkSmallSegments(t *testing.T, sizes []int, reordered bool) {
	rng := rand.New(rand.NewPCG(41, uint64(len(sizes))))
	ix := commitsIndex(t, rng, sizes...)
	if reordered {
		if _, err := ix.Merge(t.Context(), index.MergeOptions{MaxSegments: len(sizes), Reorder: index.ReorderBP}); err != nil {
			t.Fatal(err)
		}
	}
	g := testGPU(t, pipeline.Options{})
	g.smallDocs = 100
	snapshot := indextest.Snapshot(t, ix)
	p := newGPUPair(t, snapshot, g)
	steps, d := dispatched(t, snapshot, g, Config{})
	d.policy = &anyPolicy{at: anyPlacement(rng)}
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr} {
		for _, k := range []int{1, 3, 100} {
			o := Options{Mode: mode, K: k, Count: k != 3}
			p.check(t, plantest.Words(rng, 1+rng.IntN(4)), o)
			steps.check(t, plantest.Words(rng, 2+rng.IntN(3)), o)
			batch := make([]query.Node, 2+rng.IntN(20))
			for i := range batch {
				batch[i] = plantest.Words(rng, 1+rng.IntN(5))
			}
			p.checkBatch(t, batch, o)
		}
	}
	if s := g.Stats(); s.OnGPU < 30 || s.Devices[0].Errors != 0 || !reordered && s.OnCPU > 10 {
		t.Errorf("%+v: want most queries on the GPU", s)
	}
}

// The device gets no list of a small segment, also not by Warm, and the trace has the steps of both
// processors.
func TestSmallSegmentsStayOnCPU(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	ix := commitsIndex(t, rng, 300, 50, 60)
	g := testGPU(t, pipeline.Options{})
	g.smallDocs = 100
	snapshot := indextest.Snapshot(t, ix)
	p := newGPUPair(t, snapshot, g)
	lists, total, err := g.Warm(t.Context(), snapshot, WarmOptions{})
	if err != nil || lists != total || lists == 0 || lists != int64(snapshot.Segments[0].Meta().Fields[0].NumTerms) {
		t.Errorf("%d of %d lists, %v; want the ones of the first segment", lists, total, err)
	}
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "w1 w2"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var trace plan.Trace
	a, err := q.RunTraced(t.Context(), p.sc, nil, &trace)
	if err != nil {
		t.Fatal(err)
	}
	var places []sched.Place
	for i := range trace.Steps {
		places = append(places, trace.Steps[i].Place)
	}
	if !slices.Equal(places, []sched.Place{sched.GPU, sched.CPU, sched.CPU}) || a.By != sched.GPU || a.Work == (plan.Work{}) {
		t.Errorf("steps at %v, answer of %v with work %+v:\n%s", places, a.By, a.Work, &trace)
	}
}

// Small segments go to the GPU if they have most of the documents.
func TestManySmallSegments(t *testing.T) {
	for _, c := range []struct {
		sizes, small []int
	}{
		{[]int{10, 10, 9}, []int{2}},
		{[]int{18, 9, 9}, []int{1, 2}},
		{[]int{10, 6, 6}, nil},
		{[]int{5, 3}, nil},
		{[]int{10, 9}, []int{1}},
	} {
		g := &GPU{smallDocs: 10}
		s := indextest.Snapshot(t, commitsIndex(t, rand.New(rand.NewPCG(43, 1)), c.sizes...))
		if got := g.appendSmall(nil, s); !slices.Equal(got, c.small) {
			t.Errorf("segments of %d documents: %v are small, want %v", c.sizes, got, c.small)
		}
	}
}

// A list of a small segment that is damaged is the error of its queries only.
func TestSmallSegmentDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 1))
	g := testGPU(t, pipeline.Options{})
	g.smallDocs = 100
	snapshot := indextest.Snapshot(t, commitsIndex(t, rng, 300, 50))
	p := newGPUPair(t, snapshot, g)
	plans := make([]*Query, 2)
	for i, text := range []string{"w1 w2", "w3"} {
		var err error
		if plans[i], err = p.gpu.Prepare(testScratch(t, "whitespace"), plantest.Parse(t, text), Options{K: 10}); err != nil {
			t.Fatal(err)
		}
	}
	damage(plans[0], 1)
	if _, err := plans[0].Run(t.Context(), p.sc, nil); err == nil {
		t.Error("a damaged list is no error")
	}
	answers := make([]plan.Answer, 2)
	if err := p.gpu.dispatcher.SearchPrepared(t.Context(), plans, new(BatchScratch), answers); err == nil || len(answers[1].Hits) != 10 {
		t.Errorf("error %v, %d hits of the other query", err, len(answers[1].Hits))
	}
}

// damage makes the lists of a segment wrong in a plan.
func damage(q *Query, segment int) {
	legs := q.Stage(0).Legs(segment)
	for i := range legs {
		damaged := *legs[i].List
		damaged.DocFreq = base.MaxDocs // more than a block has
		legs[i].List = &damaged
	}
}

// An error of a small segment that is searched ahead is the query's, also if the GPU then searches another large segment.
func TestSmallSegmentErrorsAhead(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 1))
	g := testGPU(t, pipeline.Options{})
	g.smallDocs = 100
	p := newGPUPair(t, indextest.Snapshot(t, commitsIndex(t, rng, 300, 50, 60, 400)), g)
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd} {
		q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "w1 w2"), Options{Mode: mode, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		var small smallAhead
		ctx, cancel := context.WithCancel(t.Context())
		step := small.begin(ctx, q, &p.sc.Scratch, 0)
		cancel()
		for range 4 {
			step()
		}
		if err := small.finish(ctx, new(plan.Answer), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("mode %v, cancelled ahead: %v", mode, err)
		}
		damage(q, 1)
		if a, err := q.Run(t.Context(), p.sc, nil); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("mode %v: %d hits and the error %v of a damaged list", mode, len(a.Hits), err)
		}
	}
	if s := g.Stats(); s.OnCPU != 0 {
		t.Errorf("%d queries on the CPU", s.OnCPU)
	}
}

// Beside is not called again after it has returned false, although the GPU searches another segment.
func TestBesideEnds(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, indextest.Snapshot(t, commitsIndex(t, rand.New(rand.NewPCG(47, 1)), 300, 400, 200)), g)
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "w1 w2"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var state gpuState
	if err := state.attach(g, q); err != nil {
		t.Fatal(err)
	}
	defer state.detach(g)
	one, calls := q.gpu.stages[0], 0
	one.Beside = func() bool {
		calls++
		return false
	}
	results := make([]pipeline.Result, 1)
	if err := state.view.Run(t.Context(), []*pipeline.Query{&one}, results, nil, nil); err != nil || results[0].Err != nil || calls != 1 {
		t.Errorf("%d calls, want 1; %v, %v", calls, err, results[0].Err)
	}
}

// The first small segment is searched while the GPU works on the others.
func TestSmallSegmentsAhead(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 1))
	g := testGPU(t, pipeline.Options{})
	g.smallDocs = 100
	p := newGPUPair(t, indextest.Snapshot(t, commitsIndex(t, rng, 300, 50, 60)), g)
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "w1 w2"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var small smallAhead
	steps := 0
	beside := small.begin(t.Context(), q, &p.sc.Scratch, 0)
	var state gpuState
	if err := state.attach(g, q); err != nil {
		t.Fatal(err)
	}
	defer state.detach(g)
	one := q.gpu.stages[0]
	one.Beside = func() bool {
		steps++
		return beside()
	}
	results := make([]pipeline.Result, 1)
	if err := state.view.Run(t.Context(), []*pipeline.Query{&one}, results, nil, nil); err != nil || results[0].Err != nil {
		t.Fatal(err, results[0].Err)
	}
	a := plan.Answer{Hits: results[0].Hits}
	if err := small.finish(t.Context(), &a, nil); err != nil || steps == 0 {
		t.Fatalf("%d segments were searched ahead, %v", steps, err)
	}
	if want := answer(t, p.cpu, p.sc, plantest.Parse(t, "w1 w2"), Options{K: 10}); !slices.Equal(a.Hits, want.Hits) {
		t.Errorf("hits %v, want %v", a.Hits, want.Hits)
	}
}
