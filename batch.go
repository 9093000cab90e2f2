package griffin

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs"
)

// BatchResult is the answer to one query of SearchBatch: Results, or Err.
type BatchResult struct {
	Results
	Err error
}

// batch is the working memory of SearchBatch on a GPU.
type batch struct {
	queries  []Query
	plans    []dispatch.Query
	notes    [][]string
	numbers  []int // of the queries that are planned
	planned  []*dispatch.Query
	answers  []plan.Answer
	dispatch dispatch.BatchScratch
}

// resize makes room for n queries. The memory of former ones is used again.
func (b *batch) resize(n int) {
	if more := n - len(b.plans); more > 0 {
		b.queries = append(b.queries, make([]Query, more)...)
		b.plans = append(b.plans, make([]dispatch.Query, more)...)
		b.notes = append(b.notes, make([][]string, more)...)
		b.answers = append(b.answers, make([]plan.Answer, more)...)
	}
	b.numbers, b.planned = b.numbers[:0], b.planned[:0]
}

// SearchBatch answers many queries on one commit. Use it for throughput: the
// queries are planned and their documents are loaded on all processors, and a GPU
// answers them in as few launches as its memory allows. Result i belongs to query i;
// its Err is the error that Search would return. Took is the time of the whole
// batch. Queries of a batch cannot have a Trace. Limits.Waiting and Limits.Deadline
// do not apply. The error is the error of ctx, or a failure of the index; then there
// are no results.
func (ix *Index) SearchBatch(ctx context.Context, queries []Query) (_ []BatchResult, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	began := time.Now()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Release()
	results := make([]BatchResult, len(queries))
	r := batchRun{ctx: ctx, index: ix, snapshot: snapshot, searcher: ix.searcher(snapshot), queries: queries, results: results}
	if ix.runtime.dispatcher.GPU() != nil {
		err = r.onGPU()
	} else {
		err = r.onCPU()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	for i := range results {
		results[i].Took = took
	}
	return results, nil
}

// batchRun is one call of SearchBatch.
type batchRun struct {
	ctx      context.Context //nolint:containedctx // of the call
	index    *Index
	snapshot *index.Snapshot
	searcher *dispatch.Searcher
	queries  []Query // of the caller
	results  []BatchResult
}

// prepare plans query i in the memory of the caller. If it fails, the result has the error.
func (r *batchRun) prepare(sc *scratch, i int, q *Query, p *dispatch.Query) (s search, notes []string, err error) {
	*q = r.queries[i]
	s = search{index: r.index, snapshot: r.snapshot, searcher: r.searcher, sc: sc, query: q}
	if q.Trace {
		err = fmt.Errorf("a query of a batch cannot be traced: %w", ErrBadInput)
	} else if err = q.check(); err == nil {
		notes, err = s.prepare(p, true /* cached */)
	}
	r.results[i].Err = err
	return s, notes, err
}

// complete makes result i of an answer.
func (r *batchRun) complete(s *search, i int, p *dispatch.Query, a *plan.Answer, notes []string) {
	hits, err := s.fetch(r.ctx, p, a.Hits[min(s.query.Offset, len(a.Hits)):])
	if r.results[i].Err = err; err == nil {
		r.results[i].Results = s.results(p, a, hits, notes)
	}
}

// onCPU plans, runs and completes one query after another on each processor, in the memory of a
// single search.
func (r *batchRun) onCPU() error {
	return r.each(len(r.queries), r.index.runtime.dispatcher.BatchSlots(), 1, func(sc *scratch, i int) error {
		s, notes, err := r.prepare(sc, i, &sc.batched, &sc.query)
		if err != nil {
			return nil //nolint:nilerr // the result has it
		}
		a, err := sc.query.RunInBatch(r.ctx, sc.search, sc.hits)
		if err != nil {
			return err
		}
		sc.hits = a.Hits
		r.complete(&s, i, &sc.query, &a, notes)
		return nil
	})
}

// queriesPerProcessor is the least number of queries of a batch for a GPU that makes the start of
// another goroutine worthwhile. Planning one takes about a microsecond.
const queriesPerProcessor = 32

// onGPU plans all queries, has the GPU answer them together, and completes them.
func (r *batchRun) onGPU() error {
	b, ok := r.index.batches.Get().(*batch)
	if !ok {
		b = new(batch)
	}
	n := len(r.queries)
	b.resize(n)
	err := r.each(n, nil, queriesPerProcessor, func(sc *scratch, i int) error {
		_, b.notes[i], _ = r.prepare(sc, i, &b.queries[i], &b.plans[i])
		return nil
	})
	if err != nil {
		return err
	}
	for i := range r.results {
		if r.results[i].Err == nil {
			b.numbers, b.planned = append(b.numbers, i), append(b.planned, &b.plans[i])
		}
	}
	answers := b.answers[:len(b.planned)]
	if err := r.index.runtime.dispatcher.SearchBatch(r.ctx, b.planned, &b.dispatch, answers); err != nil {
		return err
	}
	err = r.each(len(b.numbers), nil, queriesPerProcessor, func(sc *scratch, j int) error {
		i := b.numbers[j]
		s := search{index: r.index, snapshot: r.snapshot, searcher: r.searcher, sc: sc, query: &b.queries[i]}
		r.complete(&s, i, &b.plans[i], &answers[j], b.notes[i])
		return nil
	})
	clear(b.queries[:n])
	clear(b.notes[:n])
	r.index.batches.Put(b) // not deferred: after a panic, no other batch may use it
	return err
}

// maxTurn is the maximum number of queries that a goroutine takes at a time.
const maxTurn = 16

// each calls do for 0 to n-1, on this goroutine and others, until one returns an error. With slots,
// a goroutine holds one for each turn. Without, the other goroutines need one of
// Runtime.batchHelpers; if none is free, there are fewer goroutines. A goroutine
// has at least perWorker calls on average.
func (r *batchRun) each(n int, slots chan struct{}, perWorker int, do func(sc *scratch, i int) error) error {
	if n == 0 {
		return nil
	}
	helpers := r.index.runtime.batchHelpers
	workers := min(cap(helpers), max(n/perWorker, 1))
	if slots != nil {
		workers = min(cap(slots), n)
	}
	t := turns{n: int64(n), workers: int64(workers)}
	work := func(sc *scratch) {
		for t.take(sc, slots, do) {
		}
	}
	var group invariant.Group
	defer group.Wait() // also if the work here panics
	sc, err := r.scratch()
	if err != nil {
		return err
	}
	for range workers - 1 {
		if slots == nil {
			select {
			case helpers <- struct{}{}:
			default:
				continue
			}
		}
		group.Go(func() {
			if slots == nil {
				defer func() { <-helpers }()
			}
			sc, err := r.scratch()
			if err != nil {
				t.fail(err)
				return
			}
			work(sc)
			r.index.putBatchScratch(sc)
		})
	}
	work(sc)
	r.index.putBatchScratch(sc)
	group.Wait()
	return t.err()
}

// scratch returns a scratch for a query of a batch.
func (r *batchRun) scratch() (*scratch, error) {
	sc, err := r.index.scratch(r.snapshot.Options.Analyzer)
	if err == nil {
		sc.inBatch = true
	}
	return sc, err
}

// putBatchScratch puts a scratch back without what belongs to the batch.
func (ix *Index) putBatchScratch(sc *scratch) {
	sc.inBatch, sc.slab, sc.batched = false, nil, Query{}
	ix.scratches.Put(sc)
}

// turns distributes numbers from 0 to n-1 among workers.
type turns struct {
	n, workers int64
	next       atomic.Int64
	failed     atomic.Pointer[error]
}

// take calls do for the next numbers: maxTurn, and fewer at the end, where the workers would wait for
// the one with the last turn. It holds a slot meanwhile, if there are slots. more: there may be others.
func (t *turns) take(sc *scratch, slots chan struct{}, do func(sc *scratch, i int) error) (more bool) {
	ended := false
	if slots != nil {
		slots <- struct{}{}
	}
	defer func() {
		if slots != nil {
			<-slots
		}
		if !ended { // a panic ends the batch
			t.fail(errPanic)
		}
	}()
	from, to := t.claim()
	for i := from; i < to; i++ {
		if err := do(sc, int(i)); err != nil {
			t.fail(err)
			break
		}
	}
	ended = true
	return from < to && to < t.n
}

// errPanic ends the other workers of a batch that panicked.
var errPanic = errors.New("a query of the batch panicked")

// claim returns the range of the next turn. It is empty if there is none, or after fail.
func (t *turns) claim() (from, to int64) {
	const turnsLeft = 4 // of each worker
	for {
		from = t.next.Load()
		if from >= t.n || t.failed.Load() != nil {
			return from, from
		}
		to = from + min(max((t.n-from)/(turnsLeft*t.workers), 1), maxTurn)
		if t.next.CompareAndSwap(from, to) {
			return from, to
		}
	}
}

// fail ends the distribution.
func (t *turns) fail(err error) { t.failed.CompareAndSwap(nil, &err) }

// err returns the first error of fail.
func (t *turns) err() error {
	if err := t.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// slabHits is the number of hits of a batch that share an allocation.
const slabHits = 160

// newHits returns memory for n hits. In a batch, hits share allocations.
func (sc *scratch) newHits(n int) []Hit {
	if !sc.inBatch || n > slabHits/4 {
		return make([]Hit, n)
	}
	if len(sc.slab) < n {
		sc.slab = make([]Hit, slabHits)
	}
	hits := sc.slab[:n:n]
	sc.slab = sc.slab[n:]
	return hits
}
