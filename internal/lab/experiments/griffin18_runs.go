package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/calibrate"
	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/regret"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// The measurements of griffin18-regret, of Griffin's own engine.

// policyLog returns a collection similar to GOV2, with 1,000 queries to measure
// and 3,000 others for training.
func policyLog(ctx context.Context, env *lab.Env, codec string) (*lab.Collection, []lab.Query, error) {
	return env.Generated(ctx, lab.Spec{Like: "gov2", Order: collection.Crawl, Log: lab.TB06, Queries: 4000, Codec: codec})
}

// every4th splits policyLog's queries into every fourth, to measure, and the
// others, for training.
func every4th[T any](all []T) (fourth, others []T) {
	for i, v := range all {
		if i%4 == 0 {
			fourth = append(fourth, v)
		} else {
			others = append(others, v)
		}
	}
	return fourth, others
}

func asNodes(queries []lab.Query) []regret.Query {
	nodes := make([]regret.Query, len(queries))
	for i, q := range queries {
		nodes[i] = regret.Query{ID: q.ID, Node: &query.Words{Text: q.Text, Boost: 1}}
	}
	return nodes
}

// setting is the location of lists at the start of queries.
type setting struct {
	name   string
	memory string // GPU memory for lists
}

var settings = []setting{{"lists resident", ""}, {"lists in host memory", "10%"}}

// Minimum length of a list that is loaded in advance.
const resides = 1000

type policyEngine struct {
	gpu        *dispatch.GPU
	dispatcher *dispatch.Dispatcher
	searcher   *dispatch.Searcher
}

type engineOptions struct {
	memory    string      // for lists; "": most of the free memory
	share     int         // number of GPU engines that share page-locked memory; 0: none
	warm      bool        // load lists in advance
	calibrate bool        // calibrate the cost model
	costs     *cost.Model // cost model of another engine; nil: its own
}

func openEngine(ctx context.Context, env *lab.Env, c *lab.Collection, o engineOptions) (e *policyEngine, err error) {
	e = &policyEngine{searcher: dispatch.NewSearcher(c.Snapshot, nil)}
	if e.gpu, err = dispatch.OpenGPU(dispatch.GPUOptions{Device: env.DeviceName(), Memory: o.memory, Share: o.share}, dispatch.ListBytes(c.Snapshot)); err != nil {
		return nil, err
	}
	if e.dispatcher, err = dispatch.NewDispatcher(e.gpu, dispatch.Config{Costs: o.costs}); err != nil {
		return nil, errors.Join(err, e.gpu.Close())
	}
	e.searcher.Use(e.dispatcher)
	if o.warm {
		_, _, err = e.gpu.Warm(ctx, c.Snapshot, dispatch.WarmOptions{MinDocFreq: lab.Pick(env, uint32(resides), 0), Progress: func(done, total int64) {
			env.Progress("warm", int(done), int(total))
		}})
	}
	if err == nil && o.calibrate {
		err = calibrate.Run(ctx, e.dispatcher, c.Snapshot, calibrate.Options{Limit: lab.Pick(env, 0, 200*time.Millisecond)})
	}
	if err != nil {
		return nil, errors.Join(err, e.dispatcher.Close())
	}
	return e, nil
}

// policyRuns are measurements by setting, and the reasons for missing ones.
type policyRuns struct {
	// Every query with each policy. Without a GPU there is only the first setting,
	// with policy cpu.
	all []*regret.Measured
	// Some of the queries, with the oracle; empty without a GPU.
	hindsight []*regret.Measured
	// In the order above.
	failed [2][]string
}

// Of policyRuns.failed.
const (
	partAll = iota
	partHindsight
)

var griffin18Policies = []dispatch.Policy{dispatch.PolicyCPU, dispatch.PolicyGPU, dispatch.PolicyRatio, dispatch.PolicyQuery, dispatch.PolicyCost}

// griffin18Runs measures, or returns earlier measurements. Each measurement is
// stored separately: it is not repeated after a timeout, and a failure does not
// affect the others. If there is no device, reason explains it.
func griffin18Runs(ctx context.Context, env *lab.Env) (r *policyRuns, device bool, reason string, err error) {
	d, reason, err := env.Device()
	if err != nil {
		return nil, false, "", err
	}
	c, queries, err := policyLog(ctx, env, "")
	if err != nil {
		return nil, false, "", err
	}
	measured, others := every4th(queries)
	measured, others = lab.Pick(env, measured, measured[:8]), lab.Pick(env, others, others[:min(len(others), 24)])
	m := &policyMeasuring{env: env, c: c, queries: measured, others: others}
	r = &policyRuns{}
	if d == nil {
		m.o = regret.Options{Policies: []dispatch.Policy{dispatch.PolicyCPU}, Rounds: lab.Pick(env, 3, 2)}
		all, err := lab.Shared(env, "griffin18 without a GPU", func() (*regret.Measured, error) { return m.on(ctx, c.Searcher, "policies") })
		r.all = []*regret.Measured{all}
		return r, false, reason, err
	}
	for _, s := range settings {
		if err := r.measure(ctx, m, s); err != nil {
			return nil, true, "", err
		}
	}
	if r.all[0] == nil {
		return nil, true, "", fmt.Errorf("%s: %s", settings[0].name, r.failed[partAll][0])
	}
	return r, true, "", nil
}

// The error is the error of ctx.
func (r *policyRuns) measure(ctx context.Context, m *policyMeasuring, s setting) error {
	add := func(part int, to *[]*regret.Measured, queries []lab.Query, what string, o regret.Options) error {
		own := *m
		own.queries, own.o = queries, o
		measured, err := own.inSetting(ctx, s, what)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		reason := ""
		if err != nil {
			reason = "It failed: " + err.Error() + "."
		}
		*to, r.failed[part] = append(*to, measured), append(r.failed[part], reason)
		return nil
	}
	if err := add(partAll, &r.all, m.queries, "policies", regret.Options{
		Policies: griffin18Policies, Rounds: lab.Pick(m.env, 3, 2),
	}); err != nil {
		return err
	}
	return add(partHindsight, &r.hindsight, lab.Pick(m.env, spread(m.queries, 330), m.queries[:4]), "every placement", regret.Options{
		Policies: griffin18Policies, Oracle: true, Rounds: lab.Pick(m.env, 4, 2),
	})
}

type policyMeasuring struct {
	env     *lab.Env
	c       *lab.Collection
	queries []lab.Query
	others  []lab.Query // training queries of policy query
	o       regret.Options
}

// inSetting makes a measurement, or returns an earlier one. It uses the GPU
// exclusively, because measurements should start with equal GPU memory; if
// memory is short, each policy has its own GPU engine, for the same reason.
func (m *policyMeasuring) inSetting(ctx context.Context, s setting, what string) (*regret.Measured, error) {
	return lab.Shared(m.env, "griffin18 "+s.name+", "+what, func() (measured *regret.Measured, err error) {
		o := engineOptions{memory: s.memory, warm: true}
		var trees cost.Trees
		if o.calibrate = len(m.o.Policies) > 0; o.calibrate {
			if trees, err = m.trees(ctx, s); err != nil {
				return nil, err
			}
			if s.memory != "" {
				o.share = len(m.o.Policies) // all except cpu, and the oracle's
			}
		}
		e, err := openEngine(ctx, m.env, m.c, o)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, e.dispatcher.Close()) }()
		e.dispatcher.Costs().SetTrees(trees)
		own := *m
		if o.share > 0 {
			o.calibrate, o.costs = false, e.dispatcher.Costs()
			own.o.Own = func(ctx context.Context, _ dispatch.Policy) (regret.OwnSearcher, error) {
				e, err := openEngine(ctx, m.env, m.c, o)
				if err != nil {
					return regret.OwnSearcher{}, err
				}
				return regret.OwnSearcher{Searcher: e.searcher, Close: e.dispatcher.Close}, nil
			}
		}
		return own.on(ctx, e.searcher, s.name+", "+what)
	})
}

// trees trains the trees of policy query for conjunctions, on queries that are
// not measured, or returns earlier ones.
func (m *policyMeasuring) trees(ctx context.Context, s setting) (cost.Trees, error) {
	return lab.Shared(m.env, "griffin18 "+s.name+", trees", func() (trees cost.Trees, err error) {
		e, err := openEngine(ctx, m.env, m.c, engineOptions{memory: s.memory, warm: true})
		if err != nil {
			return cost.Trees{}, err
		}
		defer func() { err = errors.Join(err, e.dispatcher.Close()) }()
		log, err := timeLog(ctx, m.env, m.c, e.searcher, m.others, s.name+", trees", 2, true /* device */)
		if err != nil {
			return cost.Trees{}, err
		}
		if trees.CPUAnd, err = cost.Train(log.samples(sched.CPU), cost.TreeOptions{}); err == nil {
			trees.GPUAnd, err = cost.Train(log.samples(sched.GPU), cost.TreeOptions{})
		}
		return trees, err
	})
}

func (m *policyMeasuring) on(ctx context.Context, s *dispatch.Searcher, phase string) (*regret.Measured, error) {
	o := m.o
	o.Searcher, o.Analyzer, o.Exec = s, m.c.Snapshot.Options.Analyzer, dispatch.Options{Mode: plan.ModeAnd, K: stagedK}
	for i := range o.Others {
		if o.Others[i].Searcher == nil {
			o.Others[i].Searcher = s
		}
	}
	o.Progress = func(done, total int) { m.env.Progress(phase, done, total) }
	return regret.Measure(ctx, asNodes(m.queries), o)
}

func (r *policyRuns) notes() (notes []string) {
	for part, what := range []string{"policies", "every placement"} {
		for i, failed := range r.failed[part] {
			if failed != "" {
				notes = append(notes, fmt.Sprintf("%s, %s: %s", settings[i].name, what, failed))
			}
		}
	}
	return notes
}

func mediansOf(m *regret.Measured, variant string) []float64 {
	v := slices.Index(m.Names, variant)
	if v < 0 {
		return nil
	}
	var us []float64
	for _, d := range m.Medians(v) {
		us = append(us, float64(d)/float64(time.Microsecond))
	}
	return us
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}
