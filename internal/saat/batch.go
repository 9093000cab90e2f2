package saat

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
)

// Batch answers queries, one per thread (Trotman and Crane, §7); an atomic counter gives
// workers the next, so all end at about the same time.
type Batch struct {
	Queries []Query
	// Engines are the workers, one per thread.
	Engines []*Engine
	// OnResult, if set, gets each result, concurrently; hits are valid until it returns.
	OnResult func(query int, r *Result, took time.Duration)
}

// BatchResult holds the measurements of Run.
type BatchResult struct {
	Elapsed time.Duration
	// Work sums the queries; Width and NumAccumulators are 0.
	Work Stats
	// Traffic sums Stats.Traffic.
	Traffic int64
}

// Run answers all queries once. A worker stops at its first failed query; the errors are
// joined.
func (b *Batch) Run(ctx context.Context) (BatchResult, error) {
	var next atomic.Int64
	var wg invariant.Group
	errs := make([]error, len(b.Engines))
	parts := make([]BatchResult, len(b.Engines))
	start := time.Now()
	for i, e := range b.Engines {
		wg.Go(func() {
			w := worker{Batch: b, engine: e}
			errs[i] = w.run(ctx, &next)
			parts[i] = w.done
		})
	}
	wg.Wait()
	total := BatchResult{Elapsed: time.Since(start)}
	for _, p := range parts {
		total.Work.Postings += p.Work.Postings
		total.Work.PostingsLeft += p.Work.PostingsLeft
		total.Work.Segments += p.Work.Segments
		total.Work.Blocks += p.Work.Blocks
		total.Work.Bytes += p.Work.Bytes
		total.Traffic += p.Traffic
	}
	return total, errors.Join(errs...)
}

type worker struct {
	*Batch
	engine *Engine
	hits   []base.Hit
	done   BatchResult
}

func (w *worker) run(ctx context.Context, next *atomic.Int64) error {
	for i := int(next.Add(1)) - 1; i < len(w.Queries); i = int(next.Add(1)) - 1 {
		var began time.Time
		if w.OnResult != nil {
			began = time.Now()
		}
		r, err := w.engine.Search(ctx, &w.Queries[i], w.hits)
		if err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
		w.hits = r.Hits
		s := &w.done.Work
		s.Postings += r.Postings
		s.PostingsLeft += r.PostingsLeft
		s.Segments += r.Segments
		s.Blocks += r.Blocks
		s.Bytes += r.Bytes
		w.done.Traffic += r.Traffic()
		if w.OnResult != nil {
			w.OnResult(i, &r, time.Since(began))
		}
	}
	return nil
}
