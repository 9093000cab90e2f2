package dispatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/plan"
)

// SearchPrepared is SearchBatch for queries that are planned already. answers[i] belongs to
// queries[i]; its hits reuse the memory of its former hits. On a GPU that has all lists it
// allocates nothing once sc and the answers have served a few batches of that size, if that is
// no larger than a part. The error is the first of any query; then the answers are undefined.
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

type preparedBatch struct {
	queries []*Query
	answers []plan.Answer

	mu  sync.Mutex // guards err
	err error      // of the first query that failed
}

func (b *preparedBatch) Len() int { return len(b.queries) }

func (b *preparedBatch) Fail(_ int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}

type preparedWorker struct {
	batch   *preparedBatch
	scratch Scratch // for running only: without an analyzer
}

var preparedWorkers = sync.Pool{New: func() any { return new(preparedWorker) }}

func (b *preparedBatch) NewWorker() (BatchWorker, error) {
	w := preparedWorkers.Get().(*preparedWorker)
	w.batch = b
	return w, nil
}

func (w *preparedWorker) Scratch() *Scratch { return &w.scratch }

func (w *preparedWorker) Prepare(i int, _ *Query) (*Query, error) { return w.batch.queries[i], nil }

// Complete exchanges the memory of the hits.
func (w *preparedWorker) Complete(i int, _ *Query, a *plan.Answer) error {
	former := w.batch.answers[i].Hits
	w.batch.answers[i] = *a
	a.Hits = former
	return nil
}

func (w *preparedWorker) Release() {
	w.batch = nil
	preparedWorkers.Put(w)
}
