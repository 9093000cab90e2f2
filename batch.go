package griffin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs"
)

// BatchResult is the answer to one query of SearchBatch: Results, or Err.
type BatchResult struct {
	Results
	Err error
}

// MarshalJSON writes the Results, or {"error": "…"}.
func (r BatchResult) MarshalJSON() ([]byte, error) {
	if r.Err != nil {
		return json.Marshal(map[string]string{"error": r.Err.Error()})
	}
	return json.Marshal(r.Results)
}

// SearchBatch answers many queries on one commit. Use it for throughput: all processors plan
// the queries and load their documents, and a GPU answers them in few launches. Result i
// belongs to query i; its Err is the error that Search would return; its Took is the time of
// the whole batch. Queries of a batch cannot have a Trace or an option that needs all matching documents, such as Sort.
// Limits.Waiting and Limits.Deadline do not apply. Answers come from the result cache (Options.ResultCache), but are
// not added to it. Hits of several results share memory. The error is the error of ctx, or of an index that is closed;
// then there are no results.
func (ix *Index) SearchBatch(ctx context.Context, queries []Query) ([]BatchResult, error) {
	return ix.SearchBatchInto(ctx, queries, nil)
}

// SearchBatchInto is SearchBatch that reuses memory, the results of a former call, with their Hits, which nobody may use any
// longer. A program that answers batch after batch makes less garbage with it.
func (ix *Index) SearchBatchInto(ctx context.Context, queries []Query, memory []BatchResult) (_ []BatchResult, err error) {
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
	ix.runtime.gate.Enter()
	defer ix.runtime.gate.Leave()
	b := batch{
		ctx: ctx, index: ix, snapshot: snapshot, searcher: ix.searcher(snapshot), queries: queries,
		results: slices.Grow(memory[:0], len(queries))[:len(queries)],
	}
	sc, ok := ix.batches.Get().(*dispatch.BatchScratch)
	if !ok {
		sc = new(dispatch.BatchScratch)
	}
	err = ix.runtime.dispatcher.SearchBatch(ctx, &b, sc)
	ix.batches.Put(sc) // not deferred: after a panic, no other batch may use it
	if err != nil {
		return nil, publicError(err)
	}
	took := time.Since(began)
	for i := range b.results {
		b.results[i].Took = took
	}
	return b.results, nil
}

type batch struct {
	ctx      context.Context //nolint:containedctx // of the call
	index    *Index
	snapshot *index.Snapshot
	searcher *dispatch.Searcher
	queries  []Query       // of the caller
	results  []BatchResult // those without a call of Prepare or Fail have old contents
}

func (b *batch) Len() int { return len(b.queries) }

func (b *batch) Fail(i int, err error) { b.results[i] = BatchResult{Err: publicError(err)} }

func (b *batch) NewWorker() (dispatch.BatchWorker, error) {
	sc, err := b.index.scratch(b.snapshot.Options.Analyzer)
	if err != nil {
		return nil, err
	}
	sc.batch = b
	return (*batchWorker)(sc), nil
}

// batchWorker plans and completes queries, as dispatch.BatchWorker, in the memory of a single
// search.
type batchWorker scratch

func (w *batchWorker) Scratch() *dispatch.Scratch { return w.search }

// Release leaves nothing of the batch in the scratch.
func (w *batchWorker) Release() {
	ix := w.batch.index
	w.batch, w.slab, w.former, w.batched = nil, nil, nil, Query{}
	ix.scratches.Put((*scratch)(w))
}

func (w *batchWorker) begin(q *Query) search {
	b := w.batch
	return search{index: b.index, snapshot: b.snapshot, searcher: b.searcher, sc: (*scratch)(w), query: q}
}

func (w *batchWorker) Prepare(i int, into *dispatch.Query) (*dispatch.Query, error) {
	q, r := &w.batched, &w.batch.results[i]
	*q, *r = w.batch.queries[i], BatchResult{Results: Results{Hits: r.Hits[:0]}}
	if q.Trace {
		return nil, fmt.Errorf("a query of a batch cannot be traced: %w", ErrBadInput)
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	if q.needsMatches() {
		return nil, fmt.Errorf("a query of a batch has no sort, aggregations, collapse, post filter and least score: %w", ErrBadInput)
	}
	s := w.begin(q)
	notes, err := s.prepare(into, true /* cached */)
	if err != nil {
		return nil, err
	}
	r.Notes = notes
	return into, nil
}

func (w *batchWorker) Complete(i int, p *dispatch.Query, a *plan.Answer) error {
	b := w.batch
	s, r := w.begin(&b.queries[i]), &b.results[i].Results
	w.former = r.Hits
	hits, err := s.fetch(b.ctx, p, a.Hits[min(s.query.Offset, len(a.Hits)):])
	if err != nil {
		return err
	}
	s.fill(r, p, a, hits)
	return nil
}

// slabHits is the number of hits of a batch that share an allocation.
const slabHits = 160

// Hits have the memory of former ones, or in a batch share allocations.
func (sc *scratch) newHits(n int) []Hit {
	if sc.former != nil && cap(sc.former) >= n {
		hits := sc.former[:n]
		clear(hits)
		return hits
	}
	if sc.batch == nil || n == 0 || n > slabHits/4 {
		return make([]Hit, n)
	}
	if len(sc.slab) < n {
		sc.slab = make([]Hit, slabHits)
	}
	hits := sc.slab[:n:n]
	sc.slab = sc.slab[n:]
	return hits
}
