package dispatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

type testBatch struct {
	t        testing.TB
	searcher *Searcher
	nodes    []query.Node
	hits     [][]base.Hit // of queries that were completed
	errs     []error      // of queries that failed
	workers  atomic.Int64 // not released
	// Called in Prepare and Complete.
	before    func(w *testWorker, i int) error
	newWorker func() error
}

func newTestBatch(t testing.TB, s *Searcher, n int) *testBatch {
	b := &testBatch{t: t, searcher: s, hits: make([][]base.Hit, n), errs: make([]error, n)}
	for i := range n {
		b.nodes = append(b.nodes, plantest.Parse(t, fmt.Sprintf("w%d w%d", i%4, (i+1)%4)))
	}
	return b
}

func (b *testBatch) Len() int              { return len(b.nodes) }
func (b *testBatch) Fail(i int, err error) { b.errs[i] = err }

func (b *testBatch) NewWorker() (BatchWorker, error) {
	if b.newWorker != nil {
		if err := b.newWorker(); err != nil {
			return nil, err
		}
	}
	b.workers.Add(1)
	return &testWorker{b, testScratch(b.t, "whitespace")}, nil
}

type testWorker struct {
	batch *testBatch
	sc    *Scratch
}

func (w *testWorker) Scratch() *Scratch { return w.sc }
func (w *testWorker) Release()          { w.batch.workers.Add(-1) }

func (w *testWorker) Prepare(i int, into *Query) (*Query, error) {
	if w.batch.before != nil {
		if err := w.batch.before(w, i); err != nil {
			return nil, err
		}
	}
	return into, w.batch.searcher.PrepareInto(into, w.sc, w.batch.nodes[i], Options{K: 10})
}

func (w *testWorker) Complete(i int, _ *Query, a *plan.Answer) error {
	if w.batch.hits[i] != nil {
		w.batch.t.Errorf("query %d is completed twice", i)
	}
	w.batch.hits[i] = append(w.batch.hits[i], a.Hits...)
	if w.batch.before != nil {
		return w.batch.before(w, i)
	}
	return nil
}

// batchPlaces calls f with Searchers of Dispatchers with two CPUs, without and with a GPU, over
// an index of the words w0 to w3 in the folder dir.
func batchPlaces(t *testing.T, f func(t *testing.T, s *Searcher, dir string)) {
	for _, gpu := range []bool{false, true} {
		t.Run(fmt.Sprintf("gpu=%t", gpu), func(t *testing.T) {
			var g *GPU
			if gpu {
				g = testGPU(t, pipeline.Options{})
			}
			ix := plantest.FrequentIndex(t, "simdbp", 300)
			p, d := dispatched(t, indextest.Snapshot(t, ix), g, Config{CPUs: 2, Policy: PolicyGPU})
			d.partQueries = 100
			if cap(d.slots) != min(2, idleCPUs()) && gpu || cap(d.slots) != 2 && !gpu {
				t.Fatalf("%d slots", cap(d.slots))
			}
			d.slots = make(chan struct{}, 2) // also on machines with few processors
			f(t, p.gpu, ix.Dir())
		})
	}
}

func TestBatchLimit(t *testing.T) {
	batchPlaces(t, func(t *testing.T, s *Searcher, _ string) {
		const limit = 2
		var running atomic.Int64
		var once sync.Once
		reached := make(chan struct{}) // closed when limit goroutines work
		before := func(*testWorker, int) error {
			n := running.Add(1)
			defer running.Add(-1)
			if n > limit {
				t.Errorf("%d goroutines work at the same time, want %d", n, limit)
			}
			if n >= limit {
				once.Do(func() { close(reached) })
			}
			select {
			case <-reached:
				runtime.Gosched() // for others to begin, too many perhaps
			case <-time.After(longWait):
				return errors.New("no other goroutine works")
			}
			return nil
		}
		var wg sync.WaitGroup
		for range 4 {
			b := newTestBatch(t, s, 200)
			b.before = before
			wg.Go(func() {
				if err := s.Dispatcher().SearchBatch(context.Background(), b, new(BatchScratch)); err != nil {
					t.Error(err)
				}
				for i := range b.hits {
					if len(b.hits[i]) != 10 || b.errs[i] != nil {
						t.Errorf("query %d: %d hits, error %v", i, len(b.hits[i]), b.errs[i])
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestBatchContextWhileWaiting(t *testing.T) {
	batchPlaces(t, func(t *testing.T, s *Searcher, _ string) {
		d := s.Dispatcher()
		for range cap(d.slots) {
			d.slots <- struct{}{}
		}
		ctx, cancel := context.WithCancel(t.Context())
		b := newTestBatch(t, s, 20)
		b.newWorker = func() error {
			time.AfterFunc(time.Millisecond, cancel)
			return nil
		}
		ended := make(chan error, 1)
		go func() { ended <- d.SearchBatch(ctx, b, new(BatchScratch)) }()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that the context ended", err)
			}
		case <-time.After(longWait):
			t.Error("the batch waits on although its context has ended")
		}
		for range cap(d.slots) {
			<-d.slots
		}
	})
}

func TestHelpersContextWhileWaiting(t *testing.T) {
	slots := make(chan struct{}, 1)
	slots <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	var h helpers
	h.reset(ctx, slots, make([]batchItem, 1), true)
	h.add(0)
	h.start(1)
	cancel()
	if err := h.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context ended", err)
	}
}

// The error of a query, in any phase, fails only this query, once.
func TestBatchErrorsStayApart(t *testing.T) {
	errPrepare, errComplete := errors.New("it cannot be planned"), errors.New("it cannot be completed")
	batchPlaces(t, func(t *testing.T, s *Searcher, _ string) {
		b := newTestBatch(t, s, 250)
		b.before = func(_ *testWorker, i int) error {
			switch completed := b.hits[i] != nil; {
			case i%50 == 7 && !completed:
				return errPrepare
			case i%50 == 8 && completed:
				return errComplete
			}
			return nil
		}
		if err := s.Dispatcher().SearchBatch(t.Context(), b, new(BatchScratch)); err != nil {
			t.Fatal(err)
		}
		for i, err := range b.errs {
			want := map[int]error{7: errPrepare, 8: errComplete}[i%50]
			if !errors.Is(err, want) || (b.hits[i] == nil) != errors.Is(want, errPrepare) {
				t.Errorf("query %d: %d hits, error %v, want %v", i, len(b.hits[i]), err, want)
			}
		}
		if n := b.workers.Load(); n != 0 {
			t.Errorf("%d workers are not released", n)
		}
	})
}

// The workers of queries that read a truncated file are not used again.
func TestBatchFault(t *testing.T) {
	batchPlaces(t, func(t *testing.T, s *Searcher, dir string) {
		files, err := filepath.Glob(filepath.Join(dir, "seg-*", "*postings*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no postings: %v", err)
		}
		for _, file := range files {
			if err := os.Truncate(file, 0); err != nil {
				t.Fatal(err)
			}
		}
		b := newTestBatch(t, s, 40)
		faulty := map[*testWorker]bool{}
		var mu sync.Mutex
		b.before = func(w *testWorker, _ int) error {
			mu.Lock()
			defer mu.Unlock()
			if s.Dispatcher().GPU() == nil && faulty[w] {
				t.Error("a worker is used after a fault")
			}
			faulty[w] = true
			return nil
		}
		if err := s.Dispatcher().SearchBatch(t.Context(), b, new(BatchScratch)); err != nil {
			t.Fatal(err)
		}
		for i, err := range b.errs {
			if !errors.Is(err, base.ErrCorrupt) || b.hits[i] != nil {
				t.Errorf("query %d: %d hits, error %v", i, len(b.hits[i]), err)
			}
		}
	})
}

// The batch ends, also in the midst of its work.
func TestBatchWithoutWorkers(t *testing.T) {
	errWorker := errors.New("no memory")
	batchPlaces(t, func(t *testing.T, s *Searcher, _ string) {
		for allowed := range 2 {
			b := newTestBatch(t, s, 250)
			var made atomic.Int64
			b.newWorker = func() error {
				if made.Add(1) > int64(allowed) {
					return errWorker
				}
				return nil
			}
			if err := s.Dispatcher().SearchBatch(t.Context(), b, new(BatchScratch)); !errors.Is(err, errWorker) {
				t.Errorf("%d workers: error %v", allowed, err)
			}
			if n := b.workers.Load(); n != 0 {
				t.Errorf("%d workers are not released", n)
			}
		}
	})
}

func TestBatchPhasePanics(t *testing.T) {
	batchPlaces(t, func(t *testing.T, s *Searcher, _ string) {
		d := s.Dispatcher()
		for _, completing := range []bool{false, true} {
			b := newTestBatch(t, s, 250)
			b.before = func(_ *testWorker, i int) error {
				if i == 130 && (b.hits[i] != nil) == completing {
					panic("broken")
				}
				return nil
			}
			if c := caught(func() { _ = d.SearchBatch(t.Context(), b, new(BatchScratch)) }); c == nil || c.Value != "broken" {
				t.Errorf("it panics with %v", c)
			}
			if len(d.slots) != 0 || d.parts.Load() != 0 {
				t.Errorf("%d slots and %d parts are kept", len(d.slots), d.parts.Load())
			}
		}
		if err := d.SearchBatch(t.Context(), newTestBatch(t, s, 20), new(BatchScratch)); err != nil {
			t.Error(err)
		}
	})
}
