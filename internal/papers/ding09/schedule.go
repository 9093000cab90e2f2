package ding09

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// schedule assigns queries to the processors (§9). Policy query of package sched has the three
// groups, stealing, deadlines and the adapted thresholds. The GPU has one server, because it computes one
// query at a time; the lists of one other query are transferred meanwhile (§5).
type schedule struct {
	engine   *Engine
	pool     *sched.Pool
	costs    *costs
	pause    pause
	fetching atomic.Bool
}

func newSchedule(e *Engine, o *options) (*schedule, error) {
	pool, err := sched.NewPool(o.schedule())
	if err != nil {
		return nil, err
	}
	return &schedule{engine: e, pool: pool, costs: newCosts()}, nil
}

// do waits for a processor and answers the query there. Every query runs, even if it misses its
// deadline.
func (s *schedule) do(ctx context.Context, q *engine.Query, stages []stage) error {
	w := &work{schedule: s, query: q, stages: stages, features: featuresOf(stages)}
	w.job = sched.Job{Alone: true}
	g := s.engine.gpu
	took, missing := g.transferTime(q.Plan, stages)
	w.job.Cost = s.costs.predict(q.Plan.Mode(), w.features, took)
	if !g.accepts(stages) || s.pause.skips() {
		w.job.Cost[sched.GPU] = sched.Never
	}
	if missing && w.job.Cost[sched.GPU] < w.job.Cost[sched.CPU] && !s.pool.Free(sched.GPU) {
		if w.fetch = s.startFetch(ctx, q, stages); w.fetch != nil {
			defer w.fetch.end()
		}
	}
	return s.pool.Do(ctx, &w.job, w)
}

// work is a query for the pool.
type work struct {
	schedule *schedule
	query    *engine.Query
	stages   []stage
	features cost.Vector
	job      sched.Job
	fetch    *fetch // nil: none
}

// Run implements sched.Work.
func (w *work) Run(ctx context.Context, at sched.Place) error {
	w.traceWait()
	if at == sched.CPU {
		return w.onCPU(ctx)
	}
	return w.onGPU(ctx)
}

// traceWait adds the time in a queue before the first run.
func (w *work) traceWait() {
	if t, j := w.query.Trace, &w.job; t != nil && j.Moves == 0 && j.Queued > 0 {
		t.AddFor(w.schedule.pool.TimeOf(j.Began-j.Queued), j.Queued, plan.Step{
			Name: plan.StepWait, Processor: j.Place.String(), Place: j.Place, Mode: w.query.Plan.Mode(),
		})
	}
}

func (w *work) onCPU(ctx context.Context) error {
	if w.fetch != nil {
		w.fetch.cancel()
	}
	c := &w.schedule.engine.cpu
	if err := c.encode(w.query.Plan, w.stages); err != nil {
		return err
	}
	began := time.Now()
	if err := c.search(ctx, w.query, w.stages); err != nil {
		return err
	}
	w.learn(sched.CPU, time.Since(began))
	return nil
}

func (w *work) onGPU(ctx context.Context) error {
	e := w.schedule.engine
	if e.gpu.lost() {
		return sched.ErrLost
	}
	d, err := w.fetched(ctx)
	if d == nil {
		return err
	}
	err = e.gpu.complete(ctx, d, err)
	if isFault(err) {
		e.faults.Add(1)
		w.schedule.pause.failed()
		if e.gpu.lost() {
			return fmt.Errorf("%w: %w", sched.ErrLost, err)
		}
		return fmt.Errorf("%w: %w", sched.ErrFailed, err)
	}
	if err != nil {
		return err
	}
	w.schedule.pause.worked()
	w.learn(sched.GPU, d.used.computing)
	return nil
}

// fetched returns the query after gpu.fetch, or nil if the context has ended.
func (w *work) fetched(ctx context.Context) (*deviceQuery, error) {
	if w.fetch == nil {
		return w.schedule.engine.gpu.fetch(ctx, w.query, w.stages)
	}
	select {
	case f := <-w.fetch.result:
		return f.query, f.err
	case <-w.fetch.ended:
		return nil, ctx.Err()
	}
}

func (w *work) learn(at sched.Place, took time.Duration) {
	w.schedule.costs.observe(at, w.query.Plan.Mode(), w.features, took)
}

// RunBatch implements sched.Work; queries are alone.
func (w *work) RunBatch(ctx context.Context, all []sched.Work, outcomes []error) {
	for i := range all {
		outcomes[i] = all[i].Run(ctx, sched.GPU)
	}
}
