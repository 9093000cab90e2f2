package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/regret"
	"github.com/griffin-search/griffin/internal/sched"
)

// This file measures the queries that griffin18-fig14, griffin18-fig15 and
// griffin18-regret show, once for all three.

// griffin18RunsDiffer is how these measurements differ from the paper's.
const griffin18RunsDiffer = "The collection is like GOV2 and the queries are of TREC 2006; [one engine](../benchmarks/one-engine.md) has a collection like ClueWeb12, and the queries of 2005. " +
	"1,000 queries, each the median of 3 rounds after one to warm up; the paper ran 10,000. The paper's lists are moved for each query; here what was read often stays in the tenth, of which each policy has one of its own. " +
	"With `ratio` candidates return to the host after each intersection, and the paper keeps them on the GPU ([divergence](../divergence.md))."

// baselineName is the variant that stands for griffin18's CPU engine: PForDelta, two
// lists at a time with skip pointers and binary search, one thread.
const baselineName = "baseline"

// wholeName is the variant that stands for Griffin-GPU alone where lists are in host
// memory: they are brought whole, as images.
const wholeName = "gpu whole"

// policyLog is the collection of experiments with policies, and its queries: as GOV2,
// with 1,000 queries to measure and 3,000 others to train on. With a codec it is of the same
// documents.
func policyLog(ctx context.Context, env *lab.Env, codec string) (*lab.Collection, []lab.Query, error) {
	return env.Generated(ctx, lab.Spec{Like: "gov2", Order: collection.Crawl, Log: lab.TB06, Queries: 4000, Codec: codec})
}

// every4th parts what is of the queries of policyLog into every fourth, to measure, and
// the others, to train on.
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

// asNodes returns queries as package regret takes them.
func asNodes(queries []lab.Query) []regret.Query {
	nodes := make([]regret.Query, len(queries))
	for i, q := range queries {
		nodes[i] = regret.Query{ID: q.ID, Node: &query.Words{Text: q.Text, Boost: 1}}
	}
	return nodes
}

// setting is where posting lists are when queries come.
type setting struct {
	name   string
	memory string // of the GPU for lists
}

// The settings of the experiments: the second one is griffin18's.
var settings = []setting{{"lists resident", ""}, {"lists in host memory", "10%"}}

// resides is the least length of a list that is brought before queries come.
const resides = 1000

// policyEngine searches a collection on CPU and GPU.
type policyEngine struct {
	gpu        *exec.GPU
	dispatcher *exec.Dispatcher
	searcher   *exec.Searcher
}

// engineOptions say how openEngine opens a GPU.
type engineOptions struct {
	memory    string      // for lists; "": most of what is free
	share     int         // GPUs of the process that page-locked memory is shared with; 0: none
	warm      bool        // bring lists
	calibrate bool        // measure what predictions are made of
	costs     *cost.Model // of another engine, to predict with; nil: its own
}

// openEngine opens the GPU for a collection.
func openEngine(ctx context.Context, env *lab.Env, c *lab.Collection, o engineOptions) (e *policyEngine, err error) {
	e = &policyEngine{searcher: exec.NewSearcher(c.Snapshot, nil)}
	if e.gpu, err = exec.OpenGPU(exec.GPUOptions{Device: env.DeviceName(), Memory: o.memory, Share: o.share}, exec.ListBytes(c.Snapshot)); err != nil {
		return nil, err
	}
	if e.dispatcher, err = exec.NewDispatcher(e.gpu, exec.DispatchOptions{Costs: o.costs}); err != nil {
		return nil, errors.Join(err, e.gpu.Close())
	}
	e.searcher.Use(e.dispatcher)
	if o.warm {
		_, _, err = e.gpu.Warm(ctx, c.Snapshot, exec.WarmOptions{MinDocFreq: lab.Pick(env, uint32(resides), 0), Progress: func(done, total int64) {
			env.Progress("warm", int(done), int(total))
		}})
	}
	if err == nil && o.calibrate {
		err = e.dispatcher.Calibrate(ctx, c.Snapshot, exec.CalibrateOptions{Limit: lab.Pick(env, 0, 200*time.Millisecond)})
	}
	if err != nil {
		return nil, errors.Join(err, e.dispatcher.Close())
	}
	return e, nil
}

// policyRuns are the measurements of the three experiments, by setting. Where one is missing,
// failed says why.
type policyRuns struct {
	// all has every query under each policy, and the baseline. Without a GPU there is the
	// first only, with policy cpu.
	all []*regret.Measured
	// hindsight has some of the queries, with the oracle; none without a GPU, and where it
	// was not asked for.
	hindsight []*regret.Measured
	// whole has the GPU alone with lists that are brought whole; none where they are there,
	// and without a GPU.
	whole []*regret.Measured
	// failed is why a measurement is missing that could have been made, in the order above.
	failed [3][]string
}

// The measurements of policyRuns.failed.
const (
	partAll = iota
	partHindsight
	partWhole
)

// griffin18Policies are those that are measured, beside cpu.
var griffin18Policies = []exec.Policy{exec.PolicyCPU, exec.PolicyGPU, exec.PolicyRatio, exec.PolicyQuery, exec.PolicyCost}

// griffin18Runs measures, or returns what was measured; hindsight asks for the oracle, too.
// Each measurement is made and kept on its own: what another experiment, or one that ran
// out of its time, has made is not made again, and one that fails leaves the others. device
// says whether there is a GPU; if not, reason tells why not.
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
		Name: baselineName, Searcher: other.Searcher, Exec: exec.Options{Mode: exec.ModeAnd, K: stagedK, Traversal: "svs-binary"},
	}
	r = &policyRuns{}
	if d == nil {
		m.o = regret.Options{Policies: []exec.Policy{exec.PolicyCPU}, Others: []regret.Variant{baseline}, Rounds: lab.Pick(env, 3, 2)}
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

// measure adds the measurements of a setting. The error is that of ctx.
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
		Others: []regret.Variant{{Name: wholeName, Exec: exec.Options{Mode: exec.ModeAnd, K: stagedK, Placement: exec.WholeLists()}}}, Rounds: lab.Pick(m.env, 3, 2),
	})
}

// policyMeasuring is one of the measurements under way.
type policyMeasuring struct {
	env     *lab.Env
	c       *lab.Collection
	queries []lab.Query
	others  []lab.Query // that the trees of policy query are trained on
	o       regret.Options
}

// inSetting makes a measurement in a setting, or returns it if it was made. It has the GPU for
// itself: what one leaves there is not what the next one wants. Where memory is short each
// policy has a GPU of its own, for the same reason.
func (m *policyMeasuring) inSetting(ctx context.Context, s setting, what string) (*regret.Measured, error) {
	return lab.Shared(m.env, "griffin18 "+s.name+", "+what, func() (measured *regret.Measured, err error) {
		o := engineOptions{memory: s.memory, warm: true}
		var trees cost.Trees
		if o.calibrate = len(m.o.Policies) > 0; o.calibrate {
			if trees, err = m.trees(ctx, s); err != nil {
				return nil, err
			}
			if s.memory != "" {
				o.share = len(m.o.Policies) // all but cpu, and the oracle's
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
			own.o.Own = func(ctx context.Context, _ exec.Policy) (regret.OwnSearcher, error) {
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

// trees trains the trees of policy query for conjunctions in a setting, on other queries than
// those that are measured, or returns them if they were trained.
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

// on makes the measurement with a searcher.
func (m *policyMeasuring) on(ctx context.Context, s *exec.Searcher, phase string) (*regret.Measured, error) {
	o := m.o
	o.Searcher, o.Analyzer, o.Exec = s, m.c.Snapshot.Options.Analyzer, exec.Options{Mode: exec.ModeAnd, K: stagedK}
	for i := range o.Others {
		if o.Others[i].Searcher == nil {
			o.Others[i].Searcher = s
		}
	}
	o.Progress = func(done, total int) { m.env.Progress(phase, done, total) }
	return regret.Measure(ctx, asNodes(m.queries), o)
}

// counted returns which of some queries count for a variant of a setting: of whole lists those
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

// medians returns the median time of each query in microseconds under a variant of a
// setting; nil if it was not measured there.
func (r *policyRuns) medians(setting int, variant string) []float64 {
	of := r.all
	switch variant {
	case baselineName, string(exec.PolicyCPU):
		setting = min(setting, len(of)-1) // without a GPU there is one
	case wholeName:
		of = r.whole
	}
	if setting >= len(of) || of[setting] == nil {
		return nil
	}
	return mediansOf(of[setting], variant)
}

// reason says why a variant was not measured in a setting.
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
		return "The GPU answered none of these in every round: their lists have no room there as images."
	}
	return "The lists are there: it is the GPU alone."
}

// notes name what failed.
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

// numTerms is how many terms of a query the collection has.
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
