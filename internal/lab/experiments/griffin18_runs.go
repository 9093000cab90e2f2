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

// The measurements of griffin18-fig14, griffin18-fig15 and griffin18-regret,
// made once for all three.

const griffin18RunsDiffer = "The collection is similar to GOV2 and the queries are from TREC 2006; [one engine](../benchmarks/one-engine.md) has a collection similar to ClueWeb12, and the queries of 2005. " +
	"1,000 queries, each the median of 3 rounds after a warm-up; the paper ran 10,000. The paper transfers lists for each query; here frequently read lists stay in the device memory, a tenth of the index for each policy separately. " +
	"With `ratio` candidates return to the host after each intersection; the paper keeps them on the GPU ([divergence](../divergence.md))."

// griffin18's CPU engine: PForDelta, two lists at a time with skip pointers and
// binary search, one thread.
const baselineName = "baseline"

// Griffin-GPU alone with lists in host memory: whole lists are loaded, as
// images.
const wholeName = "gpu whole"

// policyLog returns a collection similar to GOV2, with 1,000 queries to measure
// and 3,000 others for training. Another codec gives the same documents.
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

// The second one is griffin18's.
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

// policyRuns are the measurements of the three experiments, by setting, and the
// reasons for missing ones.
type policyRuns struct {
	// Every query with each policy, and the baseline. Without a GPU there is only
	// the first setting, with policy cpu.
	all []*regret.Measured
	// Some of the queries, with the oracle; empty without a GPU, or if not
	// requested.
	hindsight []*regret.Measured
	// The GPU alone with whole lists loaded; empty if lists are resident, or
	// without a GPU.
	whole []*regret.Measured
	// In the order above.
	failed [3][]string
}

// Of policyRuns.failed.
const (
	partAll = iota
	partHindsight
	partWhole
)

var griffin18Policies = []dispatch.Policy{dispatch.PolicyCPU, dispatch.PolicyGPU, dispatch.PolicyRatio, dispatch.PolicyQuery, dispatch.PolicyCost}

// griffin18Runs measures, or returns earlier measurements; hindsight requests
// the oracle, too. Each measurement is stored separately: it is not repeated
// for another experiment, or after a timeout, and a failure does not affect the
// others. If there is no device, reason explains it.
func griffin18Runs(ctx context.Context, env *lab.Env, hindsight bool) (r *policyRuns, device bool, reason string, err error) {
	d, reason, err := env.Device()
	if err != nil {
		return nil, false, "", err
	}
	c, queries, err := policyLog(ctx, env, "")
	if err != nil {
		return nil, false, "", err
	}
	other, _, err := policyLog(ctx, env, "pfordelta")
	if err != nil {
		return nil, false, "", err
	}
	measured, others := every4th(queries)
	measured, others = lab.Pick(env, measured, measured[:8]), lab.Pick(env, others, others[:min(len(others), 24)])
	m := &policyMeasuring{env: env, c: c, queries: measured, others: others}
	baseline := regret.Variant{
		Name: baselineName, Searcher: other.Searcher, Exec: dispatch.Options{Mode: plan.ModeAnd, K: stagedK, Traversal: "svs-binary"},
	}
	r = &policyRuns{}
	if d == nil {
		m.o = regret.Options{Policies: []dispatch.Policy{dispatch.PolicyCPU}, Others: []regret.Variant{baseline}, Rounds: lab.Pick(env, 3, 2)}
		all, err := lab.Shared(env, "griffin18 without a GPU", func() (*regret.Measured, error) { return m.on(ctx, c.Searcher, "policies") })
		r.all = []*regret.Measured{all}
		return r, false, reason, err
	}
	for _, s := range settings {
		if err := r.measure(ctx, m, s, baseline, hindsight); err != nil {
			return nil, true, "", err
		}
	}
	if r.all[0] == nil {
		return nil, true, "", fmt.Errorf("%s: %s", settings[0].name, r.failed[partAll][0])
	}
	return r, true, "", nil
}

// The error is the error of ctx.
func (r *policyRuns) measure(ctx context.Context, m *policyMeasuring, s setting, baseline regret.Variant, hindsight bool) error {
	add := func(part int, to *[]*regret.Measured, wanted bool, queries []lab.Query, what string, o regret.Options) error {
		var measured *regret.Measured
		var err error
		if wanted {
			own := *m
			own.queries, own.o = queries, o
			measured, err = own.inSetting(ctx, s, what)
		}
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
	if err := add(partAll, &r.all, true, m.queries, "policies", regret.Options{
		Policies: griffin18Policies, Others: []regret.Variant{baseline}, Rounds: lab.Pick(m.env, 3, 2),
	}); err != nil {
		return err
	}
	if err := add(partHindsight, &r.hindsight, hindsight, lab.Pick(m.env, spread(m.queries, 330), m.queries[:4]), "every placement", regret.Options{
		Policies: griffin18Policies, Oracle: true, Rounds: lab.Pick(m.env, 4, 2),
	}); err != nil {
		return err
	}
	return add(partWhole, &r.whole, s.memory != "", m.queries, "whole lists", regret.Options{
		Others: []regret.Variant{{Name: wholeName, Exec: dispatch.Options{Mode: plan.ModeAnd, K: stagedK, Placement: dispatch.WholeLists()}}}, Rounds: lab.Pick(m.env, 3, 2),
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

// counted returns the queries that count for a variant: for whole lists, those
// that the GPU answered in every round.
func (r *policyRuns) counted(setting int, variant string, members []int) []int {
	if variant != wholeName || setting >= len(r.whole) || r.whole[setting] == nil {
		return members
	}
	var counted []int
	for _, i := range members {
		if !slices.ContainsFunc(r.whole[setting].Queries[i].Ran[0], func(p regret.Places) bool { return p.CPU }) {
			counted = append(counted, i)
		}
	}
	return counted
}

// medians returns the median time of each query in microseconds; nil if not
// measured.
func (r *policyRuns) medians(setting int, variant string) []float64 {
	of := r.all
	switch variant {
	case baselineName, string(dispatch.PolicyCPU):
		setting = min(setting, len(of)-1) // without a GPU there is one
	case wholeName:
		of = r.whole
	}
	if setting >= len(of) || of[setting] == nil {
		return nil
	}
	return mediansOf(of[setting], variant)
}

// reason explains why a variant was not measured.
func (r *policyRuns) reason(setting int, variant, noDevice string) string {
	part := partAll
	if variant == wholeName {
		part = partWhole
	}
	if setting >= len(r.failed[part]) {
		return noDevice
	}
	if failed := r.failed[part][setting]; failed != "" {
		return failed
	}
	if part == partWhole && r.whole[setting] != nil {
		return "The GPU answered none of these in every round, because their images do not fit into its memory."
	}
	return "The lists are resident: see the column of the GPU alone."
}

func (r *policyRuns) notes() (notes []string) {
	for part, what := range []string{"policies", "every placement", "whole lists"} {
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

// numTerms counts the terms that occur in the collection.
func numTerms(m *regret.Measurement) int {
	n := 0
	for _, f := range m.DocFreqs {
		if f > 0 {
			n++
		}
	}
	return n
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}
