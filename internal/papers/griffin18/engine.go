package griffin18

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

const name = "griffin18"

// Engine answers conjunctions on a GPU and the CPU.
type Engine struct {
	options options
	device  *device      // nil with on=cpu
	release func() error // closes what device is on; nil: nothing
	pool    pool

	onCPU, onGPU, migrations, busBytes, faults atomic.Int64
}

var _ engine.Engine = (*Engine)(nil)

// Adapt accepts conjunctions: the paper's queries.
func (e *Engine) Adapt(o *plan.Options) error {
	if o.Mode != plan.ModeAnd {
		return fmt.Errorf("engine %s answers conjunctions, in mode and, not mode %v: %w", name, o.Mode, base.ErrBadInput)
	}
	return nil
}

// BatchSize is 1: queries are independent.
func (e *Engine) BatchSize() int { return 1 }

// Search answers the queries one after another.
func (e *Engine) Search(ctx context.Context, queries []*engine.Query) error {
	w := e.pool.take()
	defer e.pool.put(w)
	for _, q := range queries {
		q.Err = e.answer(ctx, w, q)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) answer(ctx context.Context, w *workspace, q *engine.Query) error {
	p := q.Plan
	q.Answer = plan.Answer{Hits: q.Answer.Hits[:0], Mode: plan.ModeAnd, Traversal: name}
	if err := check(p); err != nil {
		return err
	}
	r := run{engine: e, workspace: w, query: q}
	r.tracer.begin(q.Trace, p)
	w.queue.Reset(min(plan.SelectK(p), p.Snapshot().NumDocs))
	if err := r.all(ctx); err != nil {
		return err
	}
	q.Answer.Hits = w.queue.AppendSorted(q.Answer.Hits)
	e.count(&q.Answer)
	return nil
}

// check returns an error for queries that are no conjunctions of words.
func check(p *plan.Plan) error {
	st := p.Stage(0)
	switch {
	case p.Mode() == plan.ModeAnd && st.IsEmpty():
		return nil
	case p.Mode() != plan.ModeAnd || !st.IsFlat():
		return fmt.Errorf("query %s: engine %s answers conjunctions of words: %w", p.Query(), name, base.ErrBadInput)
	case st.Excludes():
		return fmt.Errorf("query %s: engine %s excludes no words: %w", p.Query(), name, base.ErrBadInput)
	case st.Kind() == traverse.Or && len(p.Snapshot().Segments) > 0 && len(st.Legs(0)) > 1:
		return fmt.Errorf("query %s: engine %s has no disjunctions: %w", p.Query(), name, base.ErrBadInput)
	}
	return nil
}

func (e *Engine) count(a *plan.Answer) {
	if a.By == sched.GPU {
		e.onGPU.Add(1)
	} else {
		e.onCPU.Add(1)
	}
	e.migrations.Add(int64(a.Migrations))
}

// freeMemory frees the memory on the device that no running query needs.
func (e *Engine) freeMemory() error {
	return errors.Join(e.pool.freeMemory(), e.device.freeLengths())
}

// Stats returns the counts.
func (e *Engine) Stats() engine.Stats {
	return engine.Stats{
		OnCPU: e.onCPU.Load(), OnGPU: e.onGPU.Load(), Migrations: e.migrations.Load(),
		BusBytes: e.busBytes.Load(), Faults: e.faults.Load(),
	}
}

// Close frees the memory of the device.
func (e *Engine) Close() error {
	if e.device == nil {
		return nil
	}
	err := errors.Join(e.pool.freeMemory(), e.device.close())
	if e.device.lost() {
		err = nil // its memory is gone
	}
	if e.release != nil {
		err = errors.Join(err, e.release())
	}
	return err
}
