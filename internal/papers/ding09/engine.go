package ding09

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/card"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

const engineName = "ding09"

func init() {
	engine.Register(engine.Info{
		Name:    engineName,
		Paper:   "Ding, He, Yan, Suel. Using graphics processors for high performance IR query processing. WWW 2009",
		Summary: "list by list on the GPU, document at a time on the CPU, and a scheduler for both",
		Algorithms: []string{
			"GPU: compressed lists in its memory, in recursive PForDelta or Rice, with a list cache (§5, §6)",
			"GPU, AND: parallel merge find, only blocks that can match are decoded (§7, §8.1); a score for each term after its intersection (§8.2)",
			"GPU, OR: an accumulator for each document (§8.3); AND+OR is decided on the device",
			"GPU: the best k with a heap of degree 512 (§8.2)",
			"CPU: block-wise PForDelta, document at a time with skips (§8.4)",
			"a global score of each document, from a file (§8.4), and a second phase that scores the best candidates by a linear function (§4)",
			"both: three groups by predicted costs, with stealing, deadlines and adapted thresholds (§9)",
			"the poster (WWW 2008): ding09:codec=rice,skip=no",
		},
		Modes:       []string{"or", "and", "and+or"},
		Options:     infoOptions(),
		ResultCache: true,
		Open:        open,
	})
}

// Engine answers lists of words.
type Engine struct {
	cpu      cpu
	gpu      *gpu         // nil: none
	schedule *schedule    // nil: one processor
	device   *cuda.Device // to be closed; nil: the caller's

	globals    *globals // nil: none
	candidates int      // of the second phase; 0: there is none
	weights    weights

	answered [sched.NumPlaces]atomic.Int64
	faults   atomic.Int64
}

func open(o engine.Options, r engine.Resources) (engine.Engine, error) {
	opts, err := readOptions(o, r)
	if err != nil {
		return nil, err
	}
	var device *cuda.Device
	if opts.on != onCPU {
		if device, err = card.Open(r.Device); err != nil {
			return nil, err
		}
		if device == nil {
			return nil, fmt.Errorf("on=%s needs a GPU (--device gpu), or on=cpu: %w", opts.on, base.ErrBadInput)
		}
	}
	e, err := newEngine(device, &opts)
	if err != nil {
		if device != nil {
			err = errors.Join(err, device.Close())
		}
		return nil, err
	}
	e.device = device
	return e, nil
}

// newEngine opens an engine. The caller closes the device, which may be nil for onCPU.
func newEngine(d *cuda.Device, o *options) (*Engine, error) {
	e := &Engine{cpu: cpu{code: cpuCode()}, candidates: o.candidates, weights: o.second}
	var err error
	if o.global != "" {
		if e.globals, err = readGlobals(o.global); err != nil {
			return nil, err
		}
	}
	if o.on == onCPU {
		return e, nil
	}
	if e.gpu, err = newGPU(d, o); err != nil {
		return nil, err
	}
	if o.on == onBoth {
		if e.schedule, err = newSchedule(e, o); err != nil {
			return nil, errors.Join(err, e.gpu.close())
		}
	}
	return e, nil
}

// Adapt accepts the modes or, and, and and+or, with at most candidates hits.
func (e *Engine) Adapt(o *plan.Options) error {
	if o.Mode == plan.ModeSaat {
		return fmt.Errorf("engine ding09 answers queries in the modes or, and, and+or, not %v: %w", o.Mode, base.ErrBadInput)
	}
	return e.checkK(o.K)
}

// checkK returns an error if a query wants more hits than there are candidates.
func (e *Engine) checkK(k int) error {
	if e.candidates > 0 && k > e.candidates {
		return fmt.Errorf("%d hits, but candidates=%d: want at most as many hits as candidates: %w", k, e.candidates, base.ErrBadInput)
	}
	return nil
}

// BatchSize is 1: the paper answers queries one by one.
func (e *Engine) BatchSize() int { return 1 }

// Search answers the queries one after another.
func (e *Engine) Search(ctx context.Context, queries []*engine.Query) error {
	for _, q := range queries {
		if err := ctx.Err(); err != nil {
			return err
		}
		q.Trace.Begin()
		q.Err = e.search(ctx, q)
		if err := ctx.Err(); err != nil && q.Err != nil {
			return err
		}
		if q.Err == nil {
			q.Answer.StepsAt = [sched.NumPlaces]int{}
			e.answered[q.Answer.By].Add(1)
		}
	}
	return nil
}

func (e *Engine) search(ctx context.Context, q *engine.Query) error {
	stages, err := stagesOf(q.Plan)
	if err != nil {
		return err
	}
	if err := e.prepare(ctx, q, stages); err != nil {
		return err
	}
	if err := e.answer(ctx, q, stages); err != nil || e.candidates == 0 || len(q.Answer.Hits) == 0 {
		return err
	}
	code := e.cpu.code
	if q.Answer.By == sched.GPU {
		code = e.gpu.code
	}
	return e.cpu.second(ctx, q, stages, code, &e.weights)
}

// prepare sets the global scores of stages and the number of candidates.
func (e *Engine) prepare(ctx context.Context, q *engine.Query, stages []stage) error {
	if err := e.checkK(q.Plan.K()); err != nil {
		return err
	}
	// plan.Settle knows neither of the other scores, so ties stay in the order of DocIDs.
	q.Settled = e.globals != nil || e.candidates > 0
	if q.Settled && q.Plan.K() > 0 {
		for i := range stages {
			stages[i].k = min(max(e.candidates, q.Plan.K()), q.Plan.Snapshot().NumDocs)
		}
	}
	if e.globals == nil {
		return nil
	}
	scores, unknown, err := e.globals.of(ctx, q.Plan.Snapshot())
	if err != nil {
		return err
	}
	for i := range stages {
		stages[i].globals = scores
	}
	if q.Trace != nil && unknown > 0 {
		q.Trace.Notes = append(slices.Clip(q.Trace.Notes),
			fmt.Sprintf("global=%s: %d of %d documents are not in the index", e.globals.file, unknown, len(e.globals.scores)))
	}
	return nil
}

func (e *Engine) answer(ctx context.Context, q *engine.Query, stages []stage) error {
	switch {
	case e.schedule != nil:
		return e.schedule.do(ctx, q, stages)
	case e.gpu == nil || !e.gpu.accepts(stages):
		return e.cpu.search(ctx, q, stages)
	}
	err := e.gpu.search(ctx, q, stages)
	if isFault(err) {
		e.faults.Add(1)
		return e.cpu.search(ctx, q, stages)
	}
	return err
}

// Stats returns the counts.
func (e *Engine) Stats() engine.Stats {
	s := engine.Stats{OnCPU: e.answered[sched.CPU].Load(), OnGPU: e.answered[sched.GPU].Load(), Faults: e.faults.Load()}
	if e.gpu != nil {
		s.ListHits, s.ListMisses = e.gpu.listHits.Load(), e.gpu.listMisses.Load()
		s.BusBytes = e.gpu.cache.bytesMoved() + e.gpu.structureBytes.Load()
	}
	if e.globals != nil {
		s.UnknownDocs = e.globals.unknown.Load()
	}
	if e.schedule != nil {
		s.Stolen = e.schedule.pool.Stats().Stolen
	}
	return s
}

// Close frees the GPU's memory.
func (e *Engine) Close() error {
	var err error
	if e.gpu != nil {
		err = e.gpu.close()
	}
	if e.device != nil {
		err = errors.Join(err, e.device.Close())
	}
	return err
}
