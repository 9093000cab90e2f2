package dispatch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/resultcache"
	"github.com/griffin-search/griffin/internal/sched"
)

// truncateAll empties the files of all segments that match a pattern.
func truncateAll(t *testing.T, dir, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "seg-*", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		if err := os.Truncate(file, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// The predicted time of a query of a batch is the time of the query before it. A query keeps nothing after its run.
func TestQueryInBatchJob(t *testing.T) {
	p, _ := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 1000, 1, 2)), nil, Config{Admit: true})
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e1 e2"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	w := &p.sc.batch
	for i := range 2 {
		before := w.took
		if err := q.runInBatch(t.Context(), p.sc); err != nil {
			t.Fatal(err)
		}
		if cost := w.job.Cost; cost[sched.CPU] != max(before, 1) || cost[sched.GPU] != sched.Never || !w.job.Alone || !w.job.Admitted {
			t.Errorf("query %d: job %+v after one of %v", i, w.job, before)
		}
		if w.took <= 0 || len(w.answer.Hits) != 10 || w.query != nil || w.sc != nil {
			t.Errorf("query %d: %d hits, took %v, keeps %v, %v", i, len(w.answer.Hits), w.took, w.query, w.sc)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.query, w.sc = q, &p.sc.Scratch
	outcomes := make([]error, 2)
	w.RunBatch(ctx, []sched.Work{w, w}, outcomes)
	for i, err := range outcomes {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("query %d with a context that has ended: %v", i, err)
		}
	}
	if len(w.answer.Hits) != 10 {
		t.Error("a query that fails takes the memory of the hits away")
	}
}

// A query during which the context ends fails, is not completed, and ends the batch.
func TestBatchContextWhileRunning(t *testing.T) {
	s := NewSearcher(indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2)), nil)
	s.Use(withoutPool(nil))
	s.dispatcher.slots = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	b := newTestBatch(t, s, 40)
	for i := range b.nodes {
		b.nodes[i] = plantest.Parse(t, "e1 e2")
	}
	b.before = func(_ *testWorker, i int) error {
		if i == 5 {
			cancel()
		}
		return nil
	}
	if err := s.dispatcher.SearchBatch(ctx, b, new(BatchScratch)); !errors.Is(err, context.Canceled) {
		t.Errorf("the batch: %v", err)
	}
	for i := range b.hits {
		if (b.hits[i] != nil) != (i < 5) || errors.Is(b.errs[i], context.Canceled) != (i == 5) {
			t.Errorf("query %d: %d hits, %v", i, len(b.hits[i]), b.errs[i])
		}
	}
}

// A context that ends with the last query, and one that ended before a phase, end the batch.
func TestBatchContextAtItsEnd(t *testing.T) {
	batchPlaces(t, func(t *testing.T, s *Searcher, _ string) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newTestBatch(t, s, 1)
		b.before = func(*testWorker, int) error {
			if b.hits[0] != nil { // it is completed
				cancel()
			}
			return nil
		}
		if err := s.Dispatcher().SearchBatch(ctx, b, new(BatchScratch)); !errors.Is(err, context.Canceled) || b.hits[0] == nil {
			t.Errorf("%d hits, %v", len(b.hits[0]), err)
		}
		p := new(batchPart)
		p.begin(ctx, s.Dispatcher(), b, 0, 1)
		if err := p.each(wholly, 1, maxTurn); !errors.Is(err, context.Canceled) {
			t.Errorf("a phase: %v", err)
		}
	})
}

// A goroutine whose worker is broken, and that gets no other, takes no more queries.
func TestBatchWithoutAnotherWorker(t *testing.T) {
	errWorker := errors.New("no memory")
	batchPlaces(t, func(t *testing.T, s *Searcher, dir string) {
		b := newTestBatch(t, s, 40)
		truncateAll(t, dir, "*postings*")
		s.Dispatcher().slots = make(chan struct{}, 1)
		var made, prepared atomic.Int64
		b.newWorker = func() error {
			if made.Add(1) > 1 {
				return errWorker
			}
			return nil
		}
		b.before = func(*testWorker, int) error {
			prepared.Add(1)
			return nil
		}
		if err := s.Dispatcher().SearchBatch(t.Context(), b, new(BatchScratch)); !errors.Is(err, errWorker) || prepared.Load() != 1 || !errors.Is(b.errs[0], base.ErrCorrupt) {
			t.Errorf("%d prepared, %v; the first: %v", prepared.Load(), err, b.errs[0])
		}
	})
}

// After a panic, the other goroutines of the batch end.
func TestBatchPanicEndsOthers(t *testing.T) {
	batchPlaces(t, func(t *testing.T, s *Searcher, _ string) {
		b := newTestBatch(t, s, 20)
		b.before = func(*testWorker, int) error { panic("broken") }
		p := new(batchPart)
		p.begin(t.Context(), s.Dispatcher(), b, 0, b.Len())
		if c := caught(func() { _ = p.each(wholly, 1, maxTurn) }); c == nil {
			t.Fatal("it does not panic")
		}
		if err := p.turns.failed.Load(); err == nil || !errors.Is(*err, errPanic) {
			t.Errorf("the others go on: %v", err)
		}
		if from, to := p.turns.claim(); from != to {
			t.Errorf("queries %d to %d are next", from, to)
		}
	})
}

// Queries that neither a GPU nor a CPU can read fail under their own numbers.
func TestBatchFailsInMiddle(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	ix := plantest.FrequentIndex(t, "simdbp", 300)
	p, d := dispatched(t, indextest.Snapshot(t, ix), g, Config{Policy: PolicyGPU})
	b := newTestBatch(t, p.gpu, 40)
	b.before = func(_ *testWorker, i int) error {
		if i == 29 {
			truncateAll(t, ix.Dir(), "*postings*")
		}
		return nil
	}
	if err := d.searchPart(t.Context(), b, 20, 30, new(batchPart)); err != nil {
		t.Fatal(err)
	}
	for i, err := range b.errs {
		if inside := i >= 20 && i < 30; errors.Is(err, base.ErrCorrupt) != inside || b.hits[i] != nil {
			t.Errorf("query %d: %d hits, %v", i, len(b.hits[i]), err)
		}
	}
}

// A batch on a GPU takes cached answers from the cache.
func TestBatchOnGPUOfCached(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)), g)
	p.gpu.UseResults(resultcache.New(1 << 20))
	queries, answers := make([]*Query, 3), make([]plan.Answer, 3)
	for i := range queries {
		node, o := plantest.Parse(t, []string{"w0 w1", "w2 w3"}[i%2]), Options{K: 10, Cached: i < 2}
		var err error
		if queries[i], err = p.gpu.Prepare(p.sc, node, o); err != nil {
			t.Fatal(err)
		}
		if _, err := queries[i].Run(t.Context(), p.sc, nil); err != nil {
			t.Fatal(err)
		}
		if queries[i], err = p.gpu.Prepare(p.sc, node, o); err != nil {
			t.Fatal(err)
		}
	}
	before := g.Stats().OnGPU
	if err := p.gpu.dispatcher.SearchPrepared(t.Context(), queries, new(BatchScratch), answers); err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		want := answer(t, p.cpu, p.sc, plantest.Parse(t, []string{"w0 w1", "w2 w3"}[i%2]), Options{K: 10})
		if !slices.Equal(a.Hits, want.Hits) || a.Cached != (i < 2) {
			t.Errorf("query %d: cached %v, hits %v, want %v", i, a.Cached, a.Hits, want.Hits)
		}
	}
	if s := g.Stats(); s.OnGPU != before+1 {
		t.Errorf("%d queries on the GPU, want one", s.OnGPU-before)
	}
}

// A batch of more than 1.5 * partQueries queries is divided into parts of at most partQueries.
func TestBatchParts(t *testing.T) {
	g := testGPU(t, pipeline.Options{Lanes: 4})
	p := newGPUPair(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)), g)
	d := p.gpu.dispatcher
	d.partQueries = 10
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "w0 w1"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]int{1: 1, 15: 1, 16: 2, 20: 2, 21: 3, 29: 3, 30: 3, 31: 4, 90: 5} { // of the lanes and one
		var sc BatchScratch
		answers := make([]plan.Answer, n)
		if err := d.SearchPrepared(t.Context(), slices.Repeat([]*Query{q}, n), &sc, answers); err != nil {
			t.Fatal(err)
		}
		if len(sc.parts) != want || slices.ContainsFunc(answers, func(a plan.Answer) bool { return len(a.Hits) != 10 }) {
			t.Errorf("%d queries have memory for %d parts, want %d", n, len(sc.parts), want)
		}
	}
}

// The error of a batch is the first one of its queries.
func TestPreparedBatchFails(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	var b preparedBatch
	if b.Fail(3, first); !errors.Is(b.err, first) {
		t.Errorf("%v", b.err)
	}
	if b.Fail(1, second); !errors.Is(b.err, first) {
		t.Errorf("%v, want the first", b.err)
	}
}

// The error of any query is the error of a prepared batch, which keeps nothing of its caller's.
func TestSearchPreparedFails(t *testing.T) {
	ix := plantest.FrequentIndex(t, "simdbp", 300)
	s := NewSearcher(indextest.Snapshot(t, ix), nil)
	q, err := s.Prepare(testScratch(t, "whitespace"), plantest.Parse(t, "w0 w1"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, truncated := range []bool{false, true} {
		if truncated {
			truncateAll(t, ix.Dir(), "*postings*")
		}
		var sc BatchScratch
		answers := make([]plan.Answer, 3)
		err := s.dispatcher.SearchPrepared(t.Context(), []*Query{q, q, q}, &sc, answers)
		if errors.Is(err, base.ErrCorrupt) != truncated || !truncated && (err != nil || len(answers[2].Hits) != 10) {
			t.Errorf("truncated %v: %v, %+v", truncated, err, answers[2])
		}
		if sc.prepared.queries != nil || sc.prepared.answers != nil {
			t.Errorf("truncated %v: the batch keeps queries or answers", truncated)
		}
	}
}
