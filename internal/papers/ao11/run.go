package ao11

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/papers/para"
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
// returns their number, with those that have an error. The error is the context's.
func (e *Engine) gather(ctx context.Context, w *worker, queries []*engine.Query) (int, error) {
	b := w.batch
	b.reset()
	for n, q := range queries {
		full := b.elements >= e.threshold || e.form.isDecoded() && b.decoded >= maxDecoded
		if full {
			return n, nil
		}
		if q.Err != nil {
			continue
		}
		err := b.add(ctx, &e.form, q)
		if ended := ctx.Err(); ended != nil {
			return 0, ended
		}
		if q.Err = err; b.elements > para.MaxElements && len(b.queries) > 1 {
			b.keep(len(b.queries) - 1)
			return n, nil
		}
	}
	return len(queries), nil
}

// runBatch answers the first queries together and returns their number. After an error of one of them, only that
// one is done: the number is 0, and the batch must be gathered again. The error is the context's.
func (e *Engine) runBatch(ctx context.Context, w *worker, queries []*engine.Query) (n int, err error) {
	t := times{began: time.Now()}
	if n, err = e.gather(ctx, w, queries); err != nil {
		return 0, err
	}
	b := w.batch
	if len(b.items) == 0 || b.elements > para.MaxElements { // words are missing in all segments, or a huge query
		return n, e.searchOnCPU(ctx, w, queries[:n])
	}
	gathered := b.queries
	err = e.try(ctx, w, &t)
	if errors.Is(err, cuda.ErrOutOfMemory) && ctx.Err() == nil {
		if err = e.gpu.reclaim(); err == nil {
			err = e.try(ctx, w, &t)
		}
	}
	fit := len(b.queries)
	if fit < len(gathered) {
		n = slices.Index(queries, gathered[max(fit, 1)-1]) + 1
	}
	var own *queryError
	switch {
	case err == nil && fit > 0:
		return n, nil
	case err == nil: // the lists of one query do not fit
		return n, e.searchOnCPU(ctx, w, queries[:n])
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.As(err, &own):
		gathered[own.query].Err = own.err
		return 0, nil
	case isFault(err):
		return n, e.fallBack(ctx, w, queries[:n])
	}
	for _, q := range queries[:n] { // a bug
		if q.Err == nil {
			q.Err = fmt.Errorf("query %s: %w", q.Plan.Query(), err)
		}
	}
	return n, nil
}

// ofDevice reports whether an error is the device's.
func ofDevice(err error) bool {
	var device *cuda.Error
	return errors.As(err, &device)
}

// isFault reports whether an error is the device's, after which the CPU can answer.
func isFault(err error) bool { return ofDevice(err) && !errors.Is(err, cuda.ErrMisuse) }

// try intersects the batch of w in a workspace and answers its queries, perhaps without the last ones (gpu.hold). The
// error is the context's, the device's or a queryError.
func (e *Engine) try(ctx context.Context, w *worker, t *times) error {
	ws, err := e.gpu.take(ctx)
	if err != nil {
		return err
	}
	*t = times{began: t.began, gathered: time.Now()}
	reusable := false // after a panic
	defer func() { e.gpu.giveBack(ws, reusable) }()
	err = e.gpu.intersect(ctx, ws, w.batch, t)
	e.counts.busBytes.Add(t.listBytes + t.batchBytes)
	if err == nil {
		err = e.rankBatch(ctx, w, ws, t)
	} else if !ofDevice(err) {
		err = errors.Join(err, ws.stream.Synchronize()) // work that was enqueued before uses the lists
	}
	reusable = !ofDevice(err)
	return err
}

// leastMatches is the number of matches in a batch from which several goroutines score them.
const leastMatches = 1 << 12

// rankBatch answers the queries of a batch that PARA has intersected, on up to e.cpus goroutines. The error is the
// context's.
func (e *Engine) rankBatch(ctx context.Context, w *worker, ws *workspace, t *times) error {
	var next atomic.Int64
	rank := func(w *worker) {
		for n := int(next.Add(1)) - 1; n < len(w.batch.queries); n = int(next.Add(1)) - 1 {
			if e.rankQuery(ctx, w, ws, n, t) != nil {
				return
			}
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
	func() {
		defer others.Wait() // also after a panic: they use the batch and the workspace
		rank(w)
	}()
	return ctx.Err()
}

// rankQuery answers query number n of a batch. The error is the context's.
func (e *Engine) rankQuery(ctx context.Context, w *worker, ws *workspace, n int, t *times) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := w.batch.queries[n]
	began := time.Now()
	err := w.answer(ctx, n, sched.GPU, func(_ context.Context, i int, _ *plan.Answer) ([]uint32, error) { return ws.batch.DocIDs(i), nil })
	if err != nil || q.Err != nil {
		return err
	}
	e.counts.onGPU.Add(1)
	if q.Trace == nil {
		return nil
	}
	matches := int64(0)
	for i, to := w.batch.itemsOf(n); i < to; i++ {
		matches += int64(ws.batch.Count(i))
	}
	t.trace(q, e.gpu.name, len(w.batch.queries), matches, began)
	return nil
}

// fallBack answers queries on the CPU because the GPU failed.
func (e *Engine) fallBack(ctx context.Context, w *worker, queries []*engine.Query) error {
	for _, q := range queries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if q.Err == nil {
			if err := e.answerOnCPU(ctx, w, q); err != nil {
				return err
			}
			if q.Err == nil {
				e.counts.faults.Add(1)
			}
		}
	}
	return nil
}
