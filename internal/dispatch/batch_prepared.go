package dispatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/plan"
)

// SearchPrepared is SearchBatch for queries that are planned already. answers[i] belongs to queries[i].
// Its hits are in the memory of former answers of the batch, so that answers can be used again. On a GPU
// that has all lists it allocates nothing once sc and the answers have served a few batches of that size
// and no larger than a part. The error is the first of any query; then the answers are undefined.
func (d *Dispatcher) SearchPrepared(ctx context.Context, queries []*Query, sc *BatchScratch, answers []plan.Answer) error {
	if len(queries) != len(answers) {
		return fmt.Errorf("%d queries, but %d answers: %w", len(queries), len(answers), base.ErrBadInput)
	}
	for i, q := range queries {
		if q.searcher.dispatcher != d {
			return fmt.Errorf("query %d of %d is of another dispatcher: %w", i, len(queries), base.ErrBadInput)
		}
	}
	b := &sc.prepared
	b.queries, b.answers, b.err = queries, answers, nil
	defer func() { b.queries, b.answers = nil, nil }()
	if err := d.SearchBatch(ctx, b, sc); err != nil {
		return err
	}
	return b.err
}

// preparedBatch is a batch of queries that are planned already.
type preparedBatch struct {
	queries []*Query
	answers []plan.Answer

	mu  sync.Mutex // guards err
	err error      // of the first query that failed
}

// Len implements BatchQueries.
func (b *preparedBatch) Len() int { return len(b.queries) }

// Fail implements BatchQueries.
func (b *preparedBatch) Fail(_ int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}

// preparedWorker implements BatchWorker.
type preparedWorker struct {
	batch   *preparedBatch
	scratch Scratch // for running only: without an analyzer
}

// preparedWorkers lends memory to batches.
var preparedWorkers = sync.Pool{New: func() any { return new(preparedWorker) }}

// NewWorker implements BatchQueries.
func (b *preparedBatch) NewWorker() (BatchWorker, error) {
	w := preparedWorkers.Get().(*preparedWorker)
	w.batch = b
	return w, nil
}

// Scratch implements BatchWorker.
func (w *preparedWorker) Scratch() *Scratch { return &w.scratch }

// Prepare implements BatchWorker.
func (w *preparedWorker) Prepare(i int, _ *Query) (*Query, error) { return w.batch.queries[i], nil }

// Complete implements BatchWorker. It exchanges the memory of the hits.
func (w *preparedWorker) Complete(i int, _ *Query, a *plan.Answer) error {
	former := w.batch.answers[i].Hits
	w.batch.answers[i] = *a
	a.Hits = former
	return nil
}

// Release implements BatchWorker.
func (w *preparedWorker) Release() {
	w.batch = nil
	preparedWorkers.Put(w)
}
