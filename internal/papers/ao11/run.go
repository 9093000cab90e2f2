package ao11

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// searchOnGPU answers the pending queries of a worker in batches.
func (e *Engine) searchOnGPU(ctx context.Context, w *worker) error {
	for queries := w.pending; len(queries) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.gpu.device.Err() != nil {
			return e.searchOnCPU(ctx, w, queries)
		}
		n, err := e.runBatch(ctx, w, queries)
		if err != nil {
			return err
		}
		queries = queries[n:]
	}
	return nil
}

// gather fills the batch of w from the first queries until it reaches the computational threshold, and
// returns their number, with those that have an error.
func (e *Engine) gather(w *worker, queries []*engine.Query) int {
	w.batch.reset()
	for n, q := range queries {
		full := w.batch.elements >= e.threshold || e.form.isDecoded() && w.batch.decoded >= maxDecoded
		if full {
			return n
		}
		q.Err = w.batch.add(&e.form, q)
	}
	return len(queries)
}

// runBatch answers the first queries together and returns their number. The error is the context's.
func (e *Engine) runBatch(ctx context.Context, w *worker, queries []*engine.Query) (n int, err error) {
	t := times{began: time.Now()}
	n = e.gather(w, queries)
	if len(w.batch.items) == 0 { // all of them miss words in all segments
		return n, e.searchOnCPU(ctx, w, queries[:n])
	}
	ws, err := e.gpu.take(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return n, e.fallBack(ctx, w, queries[:n])
	}
	t.gathered = time.Now()
	gathered := w.batch.queries
	if err := e.runOn(ws, w, &t); err != nil {
		return n, e.fallBack(ctx, w, queries[:n])
	}
	if fit := len(w.batch.queries); fit < len(gathered) {
		n = slices.Index(queries, gathered[fit])
		if fit == 0 { // the lists of one query do not fit
			n++
			return n, e.searchOnCPU(ctx, w, queries[:n])
		}
	}
	return n, nil
}

// runOn intersects the batch of w and answers its queries, perhaps without the last ones (gpu.hold), and gives the
// workspace back. The error is of the device.
func (e *Engine) runOn(ws *workspace, w *worker, t *times) error {
	failed := true // also after a panic
	defer func() { e.gpu.giveBack(ws, failed) }()
	err := e.gpu.intersect(ws, w.batch, t)
	e.counts.busBytes.Add(t.listBytes + t.batchBytes)
	if err != nil {
		return err
	}
	e.rankBatch(w, ws, t)
	failed = false
	return nil
}

// leastMatches is the number of matches in a batch from which several goroutines score them.
const leastMatches = 1 << 12

// rankBatch answers the queries of a batch that PARA has intersected, on up to e.cpus goroutines.
func (e *Engine) rankBatch(w *worker, ws *workspace, t *times) {
	var next atomic.Int64
	rank := func(w *worker) {
		for n := int(next.Add(1)) - 1; n < len(w.batch.queries); n = int(next.Add(1)) - 1 {
			e.rankQuery(w, ws, n, t)
		}
	}
	var others invariant.Group
	if ws.batch.Total() >= leastMatches {
		for range min(e.cpus, len(w.batch.queries)) - 1 {
			others.Go(func() {
				other := e.workers.Get().(*worker)
				own := other.batch
				other.batch = w.batch
				rank(other)
				other.batch = own
				other.forget()
				e.workers.Put(other)
			})
		}
	}
	defer others.Wait() // also after a panic: they use the batch and the workspace
	rank(w)
}

// rankQuery answers query number n of a batch.
func (e *Engine) rankQuery(w *worker, ws *workspace, n int, t *times) {
	q := w.batch.queries[n]
	began := time.Now()
	w.answer(n, sched.GPU, func(i int, _ *plan.Answer) ([]uint32, error) { return ws.batch.DocIDs(i), nil })
	if q.Err != nil {
		return
	}
	e.counts.onGPU.Add(1)
	if q.Trace == nil {
		return
	}
	matches := int64(0)
	for i, to := w.batch.itemsOf(n); i < to; i++ {
		matches += int64(ws.batch.Count(i))
	}
	t.trace(q, e.gpu.name, len(w.batch.queries), matches, began)
}

// fallBack answers queries on the CPU because the GPU failed.
func (e *Engine) fallBack(ctx context.Context, w *worker, queries []*engine.Query) error {
	for _, q := range queries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if q.Err == nil {
			e.counts.faults.Add(1)
			e.answerOnCPU(w, q)
		}
	}
	return nil
}
