package lab

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrOverBudget means that an experiment exceeded its Budget.
var ErrOverBudget = errors.New("over its budget of time")

// stopwatch measures without building collections, and cancels the experiment
// at the budget.
type stopwatch struct {
	budget, ran time.Duration
	started     time.Time // zero: paused
	alarm       *time.Timer
}

func startStopwatch(budget time.Duration, over func()) *stopwatch {
	return &stopwatch{budget: budget, started: time.Now(), alarm: time.AfterFunc(budget, over)}
}

func (w *stopwatch) pause() {
	w.alarm.Stop()
	w.ran += time.Since(w.started)
	w.started = time.Time{}
}

func (w *stopwatch) resume() {
	w.started = time.Now()
	w.alarm.Reset(max(0, w.budget-w.ran))
}

// Run runs an experiment. The error contains its name and wraps ErrOverBudget,
// the error of ctx, or the error of the experiment or of the check of its
// result.
func (env *Env) Run(ctx context.Context, e Experiment) (*Record, error) {
	record, err := env.run(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	return record, nil
}

func (env *Env) run(ctx context.Context, e Experiment) (*Record, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	env.watch = startStopwatch(e.Budget, func() {
		cancel(fmt.Errorf("%w: %v", ErrOverBudget, e.Budget))
	})
	defer env.watch.alarm.Stop()
	env.prepared, env.used, env.onDevice = 0, nil, false
	before := load()
	result, err := e.Run(ctx, env)
	env.watch.pause()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
			err = cause
		}
		return nil, err
	}
	if env.watch.ran > e.Budget { // it ignored its context
		return nil, fmt.Errorf("%w: %v, it took %v", ErrOverBudget, e.Budget, env.watch.ran.Round(time.Second))
	}
	if err := result.Check(); err != nil {
		return nil, err
	}
	r := &Record{
		Name: e.Name, Paper: e.Paper, Shows: e.Shows, Title: e.Title, Did: e.Did, Ours: e.Ours, Differs: e.Differs,
		Result: result, Provenance: here(),
	}
	p := &r.Provenance
	p.Load = before
	if env.onDevice {
		info := env.device.Info()
		p.GPU = fmt.Sprintf("%s, driver for CUDA %s", info.Name, info.Driver())
	}
	p.Seed, p.Collections, p.Command, p.Quick = env.config.Seed, env.used, env.config.Command, env.Quick
	p.Took, p.Prepared, p.Budget = env.watch.ran, env.prepared, e.Budget
	return r, nil
}

// prepare runs f, which builds a collection, outside of the budget.
func (env *Env) prepare(f func() error) error {
	if env.watch != nil {
		env.watch.pause()
		defer env.watch.resume()
	}
	start := time.Now()
	defer func() { env.prepared += time.Since(start) }()
	return f()
}
