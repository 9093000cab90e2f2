package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/lab"
	_ "github.com/griffin-search/griffin/internal/papers/ding09" // registers the engine
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/query"
)

// The engine ding09 and Griffin's own engine, which answer the same planned queries.

const (
	ding09OnCPU = "ding09:on=cpu"
	// ding09OnGPU keeps all lists in GPU memory, as Tables 2 and 3 of the paper assume; the engine's
	// default is the 640 MiB of the paper's GPU.
	ding09OnGPU = "ding09:on=gpu,cache=32768"
)

// ding09Engine is an engine with planned queries.
type ding09Engine struct {
	// search answers query i in a mode of ding09Modes. The hits are valid until the next call.
	search func(ctx context.Context, mode, i int) ([]base.Hit, error)
	// trace, if not nil, gets the steps of the next query of the engine ding09.
	trace *plan.Trace
	close func() error
}

// openDing09 opens the engine ding09 with a spec for engine.Parse, and codes all lists.
func openDing09(ctx context.Context, env *lab.Env, c *lab.Collection, queries []lab.Query, spec string) (*ding09Engine, error) {
	plans, scratch, err := ding09Plans(c, queries)
	if err != nil {
		return nil, err
	}
	opened, err := openDing09Spec(env, spec)
	if err != nil {
		return nil, err
	}
	env.Progress("code the lists of "+spec, 0, 1)
	if err := warmDing09(ctx, opened, plans[0]); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	e := &ding09Engine{}
	var q engine.Query
	batch := []*engine.Query{&q}
	e.search = func(ctx context.Context, mode, i int) ([]base.Hit, error) {
		q = engine.Query{Plan: plans[mode][i], Scratch: scratch, Trace: e.trace, Answer: plan.Answer{Hits: q.Answer.Hits[:0]}}
		if err := opened.Search(ctx, batch); err != nil {
			return nil, err
		}
		return q.Answer.Hits, q.Err
	}
	e.close = func() error { return ding09Close(opened) }
	return e, nil
}

// warmDing09 codes the lists of queries, on all cores.
func warmDing09(ctx context.Context, e engine.Engine, plans []*plan.Plan) error {
	return parallel(ctx, len(plans), func(i int) error {
		q := engine.Query{Plan: plans[i]}
		if err := e.Search(ctx, []*engine.Query{&q}); err != nil {
			return err
		}
		return q.Err
	})
}

func openDing09Spec(env *lab.Env, spec string) (engine.Engine, error) {
	s, err := engine.Parse(spec)
	if err != nil {
		return nil, err
	}
	device := env.DeviceName()
	if spec == ding09OnCPU {
		device = "cpu"
	}
	return s.Open(engine.Resources{Device: device, CPUs: 1})
}

// ding09Close reports faults of the GPU, whose queries the CPU has answered.
func ding09Close(e engine.Engine) error {
	s := e.Stats()
	err := e.Close()
	if s.Faults > 0 {
		err = errors.Join(err, fmt.Errorf("the CPU answered %d queries because the GPU failed", s.Faults))
	}
	return err
}

// ding09Plans plans queries, by mode.
func ding09Plans(c *lab.Collection, queries []lab.Query) ([][]*plan.Plan, *plan.Scratch, error) {
	scratch, err := plan.NewScratch(c.Snapshot.Options.Analyzer)
	if err != nil {
		return nil, nil, err
	}
	planner := plan.New(c.Snapshot, nil)
	plans := make([][]*plan.Plan, len(ding09Modes))
	for m, mode := range ding09Modes {
		for i := range queries {
			p, err := planner.Prepare(scratch, &query.Words{Text: queries[i].Text, Boost: 1}, plan.Options{Mode: mode, K: stagedK})
			if err != nil {
				return nil, nil, fmt.Errorf("query %s: %w", queries[i].ID, err)
			}
			plans[m] = append(plans[m], p)
		}
	}
	return plans, scratch, nil
}

// openDing09Griffin opens Griffin's own engine: on the CPU, or with all lists and queries on the GPU.
func openDing09Griffin(ctx context.Context, env *lab.Env, c *lab.Collection, queries []lab.Query, cpu bool) (*ding09Engine, error) {
	e := &ding09Engine{close: func() error { return nil }}
	searcher := dispatch.NewSearcher(c.Snapshot, nil)
	if !cpu {
		gpu, err := dispatch.OpenGPU(dispatch.GPUOptions{Device: env.DeviceName()}, dispatch.ListBytes(c.Snapshot))
		if err != nil {
			return nil, err
		}
		if _, _, err := gpu.Warm(ctx, c.Snapshot, dispatch.WarmOptions{}); err != nil {
			return nil, errors.Join(err, gpu.Close())
		}
		d, err := dispatch.NewDispatcher(gpu, dispatch.Config{Policy: dispatch.PolicyGPU})
		if err != nil {
			return nil, errors.Join(err, gpu.Close())
		}
		searcher.Use(d)
		e.close = func() error {
			s := gpu.Stats()
			err := d.Close()
			if s.OnCPU > 0 {
				err = errors.Join(err, fmt.Errorf("%d of %d queries went to the CPU", s.OnCPU, s.OnCPU+s.OnGPU))
			}
			return err
		}
	}
	scratch, err := dispatch.NewScratch(c.Snapshot.Options.Analyzer)
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	plans := make([][]*dispatch.Query, len(ding09Modes))
	for m, mode := range ding09Modes {
		for i := range queries {
			p, err := searcher.Prepare(scratch, &query.Words{Text: queries[i].Text, Boost: 1}, dispatch.Options{Mode: mode, K: stagedK, CPU: cpu})
			if err != nil {
				return nil, errors.Join(fmt.Errorf("query %s: %w", queries[i].ID, err), e.close())
			}
			plans[m] = append(plans[m], p)
		}
	}
	hits := make([]base.Hit, 0, stagedK)
	e.search = func(ctx context.Context, mode, i int) ([]base.Hit, error) {
		a, err := plans[mode][i].Run(ctx, scratch, hits)
		return a.Hits, err
	}
	return e, nil
}

// measure returns the median time of each query in a mode: of rounds over all queries after a
// warm-up, in which the hits are compared with the default engine's.
func (s *ding09Sample) measure(ctx context.Context, env *lab.Env, e *ding09Engine, name string, mode, rounds int) (*answers, error) {
	times := make([][]time.Duration, len(s.queries))
	err := s.rounds(ctx, env, e, name, mode, rounds, func(i int, took time.Duration) { times[i] = append(times[i], took) })
	if err != nil {
		return nil, err
	}
	a := &answers{hits: s.want[mode].hits, found: s.want[mode].found}
	for _, t := range times {
		a.times = append(a.times, medianTime(t))
	}
	return a, nil
}

// rounds calls each after every search that follows the warm-up.
func (s *ding09Sample) rounds(ctx context.Context, env *lab.Env, e *ding09Engine, name string, mode, rounds int, each func(i int, took time.Duration)) error {
	found := make([][]base.Hit, len(s.queries))
	for round := range rounds + 1 {
		for i := range s.queries {
			if i%64 == 0 {
				env.Progress(fmt.Sprintf("%s, %v", name, ding09Modes[mode]), round*len(s.queries)+i, (rounds+1)*len(s.queries))
			}
			start := time.Now()
			hits, err := e.search(ctx, mode, i)
			took := time.Since(start)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return fmt.Errorf("%s: query %s: %w", name, s.queries[i].ID, err)
			}
			if round == 0 {
				found[i] = slices.Clone(hits)
			} else {
				each(i, took)
			}
		}
		if round == 0 {
			if err := s.want[mode].same(fmt.Sprintf("%s, %v", name, ding09Modes[mode]), found); err != nil {
				return err
			}
		}
	}
	return nil
}

// ding09Steps are device times of the engine's steps: medians of each query.
type ding09Steps map[string][]time.Duration

// steps traces a mode.
func (s *ding09Sample) steps(ctx context.Context, env *lab.Env, e *ding09Engine, mode, rounds int) (ding09Steps, error) {
	e.trace = new(plan.Trace)
	defer func() { e.trace = nil }()
	all := map[string][][]time.Duration{}
	err := s.rounds(ctx, env, tracedDing09(e), "steps", mode, rounds, func(i int, _ time.Duration) {
		sums := map[string]time.Duration{}
		for _, step := range e.trace.Steps {
			sums[step.Name] += step.Took
		}
		for name, took := range sums {
			if all[name] == nil {
				all[name] = make([][]time.Duration, len(s.queries))
			}
			all[name][i] = append(all[name][i], took)
		}
	})
	if err != nil {
		return nil, err
	}
	medians := ding09Steps{}
	for name, times := range all {
		medians[name] = make([]time.Duration, len(times))
		for i, t := range times {
			if len(t) > 0 {
				medians[name][i] = medianTime(t)
			}
		}
	}
	return medians, nil
}

// tracedDing09 empties the trace before each query.
func tracedDing09(e *ding09Engine) *ding09Engine {
	return &ding09Engine{search: func(ctx context.Context, mode, i int) ([]base.Hit, error) {
		*e.trace = plan.Trace{}
		return e.search(ctx, mode, i)
	}}
}

// sum adds up steps of the chosen queries.
func (t ding09Steps) sum(queries []int, names ...string) time.Duration {
	sum := time.Duration(0)
	for _, name := range names {
		for _, i := range queries {
			if times := t[name]; times != nil {
				sum += times[i]
			}
		}
	}
	return sum
}

func medianTime(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

func meanMilliseconds(times []time.Duration) float64 { return (&answers{times: times}).milliseconds() }
