package ao11

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/plan"
)

const name = "ao11"

// maxQueries is the maximum number of queries of a call: several batches of the default threshold.
const maxQueries = 1024

// Engine answers conjunctions.
type Engine struct {
	config
	gpu     *gpu         // nil: on the CPU
	closing func() error // closes the device
	workers sync.Pool    // of *worker
	counts  counts
}

type counts struct {
	onCPU, onGPU, faults, busBytes, hits, misses atomic.Int64
}

var _ engine.Engine = (*Engine)(nil)

// newEngine returns an Engine on a device, nil on the CPU, that the caller closes.
func newEngine(c config, d *cuda.Device) (*Engine, error) {
	e := &Engine{config: c}
	e.workers.New = func() any { return &worker{form: &e.form, batch: new(batch)} }
	if d == nil {
		return e, nil
	}
	var err error
	e.gpu, err = newGPU(&e.config, d, &e.counts)
	return e, err
}

// Adapt refuses modes other than and.
func (*Engine) Adapt(o *plan.Options) error {
	if o.Mode != plan.ModeAnd {
		return fmt.Errorf("engine ao11 answers conjunctions, in mode and, not mode %v: %w", o.Mode, base.ErrBadInput)
	}
	return nil
}

// BatchSize returns the number of queries from which Search makes batches.
func (*Engine) BatchSize() int { return maxQueries }

// Search answers the queries in their order: on a GPU in batches that reach the computational threshold,
// except the last, and on a CPU one after another.
func (e *Engine) Search(ctx context.Context, queries []*engine.Query) error {
	w := e.workers.Get().(*worker)
	defer func() {
		w.forget()
		e.workers.Put(w)
	}()
	for _, q := range queries {
		if q.Err = check(q.Plan); q.Err == nil {
			w.pending = append(w.pending, q)
		}
	}
	if e.gpu != nil {
		return e.searchOnGPU(ctx, w)
	}
	return e.searchOnCPU(ctx, w, w.pending)
}

// Stats returns the counts.
func (e *Engine) Stats() engine.Stats {
	c := &e.counts
	return engine.Stats{
		OnCPU: c.onCPU.Load(), OnGPU: c.onGPU.Load(), Faults: c.faults.Load(), BusBytes: c.busBytes.Load(),
		ListHits: c.hits.Load(), ListMisses: c.misses.Load(),
	}
}

// Close releases the GPU.
func (e *Engine) Close() (err error) {
	if e.gpu != nil {
		err = e.gpu.close()
	}
	if e.closing != nil {
		err = errors.Join(err, e.closing())
	}
	return err
}
