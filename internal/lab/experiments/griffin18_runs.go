package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/regret"
)

// This file measures the queries that griffin18-fig14, griffin18-fig15 and
// griffin18-regret show, once for all three.

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

// openEngine opens the GPU for a collection; calibrate asks for measured predictions.
func openEngine(ctx context.Context, env *lab.Env, c *lab.Collection, memory string, warm, calibrate bool) (e *policyEngine, err error) {
	e = &policyEngine{searcher: exec.NewSearcher(c.Snapshot, nil)}
	if e.gpu, err = exec.OpenGPU(exec.GPUOptions{Device: env.DeviceName(), Memory: memory}, exec.ListBytes(c.Snapshot)); err != nil {
		return nil, err
	}
	if e.dispatcher, err = exec.NewDispatcher(e.gpu, exec.DispatchOptions{}); err != nil {
		return nil, errors.Join(err, e.gpu.Close())
	}
	e.searcher.Use(e.dispatcher)
	if warm {
		_, _, err = e.gpu.Warm(ctx, c.Snapshot, exec.WarmOptions{MinDocFreq: lab.Pick(env, uint32(resides), 0), Progress: func(done, total int64) {
			env.Progress("warm", int(done), int(total))
		}})
	}
	if err == nil && calibrate {
		err = e.dispatcher.Calibrate(ctx, c.Snapshot, exec.CalibrateOptions{Limit: lab.Pick(env, 0, 200*time.Millisecond)})
	}
	if err != nil {
		return nil, errors.Join(err, e.dispatcher.Close())
	}
	return e, nil
}

// policyRuns are the measurements of the three experiments.
type policyRuns struct {
	// all has, by setting, every query under each policy, and the baseline in the first.
	// Without a GPU there is the first only, with policy cpu.
	all []*regret.Measured
	// hindsight has, by setting, some of the queries, with the oracle; empty without a GPU.
	hindsight []*regret.Measured
	// whole has, by setting, the GPU alone with lists that are brought whole; nil where
	// they are there, and without a GPU.
	whole []*regret.Measured
}

// griffin18Policies are those that are measured, beside cpu.
var griffin18Policies = []exec.Policy{exec.PolicyCPU, exec.PolicyGPU, exec.PolicyRatio, exec.PolicyQuery, exec.PolicyCost}

// griffin18Runs measures, or returns what was measured. device says whether there is a
// GPU; it is nil without the reason why not.
func griffin18Runs(ctx context.Context, env *lab.Env) (r *policyRuns, device bool, reason string, err error) {
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
	measured, _ := every4th(queries)
	measured = lab.Pick(env, measured, measured[:8])
	r, err = lab.Shared(env, "griffin18 policies", func() (*policyRuns, error) {
		baseline := regret.Variant{
			Name: baselineName, Searcher: other.Searcher, Exec: exec.Options{Mode: exec.ModeAnd, K: stagedK, Traversal: "svs-binary"},
		}
		if d == nil {
			m, err := regret.Measure(ctx, asNodes(measured), regret.Options{
				Searcher: c.Searcher, Analyzer: c.Snapshot.Options.Analyzer, Exec: exec.Options{Mode: exec.ModeAnd, K: stagedK},
				Policies: []exec.Policy{exec.PolicyCPU}, Others: []regret.Variant{baseline}, Rounds: lab.Pick(env, 3, 2),
				Progress: func(done, total int) { env.Progress("policies", done, total) },
			})
			return &policyRuns{all: []*regret.Measured{m}}, err
		}
		runs := &policyRuns{}
		for i, s := range settings {
			var others []regret.Variant
			if i == 0 { // it has nothing to do with the GPU
				others = []regret.Variant{baseline}
			}
			if err := runs.measure(ctx, env, c, measured, s, others); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
		}
		return runs, nil
	})
	return r, d != nil, reason, err
}

// measure adds the measurements of a setting.
func (r *policyRuns) measure(ctx context.Context, env *lab.Env, c *lab.Collection, queries []lab.Query, s setting, others []regret.Variant) (err error) {
	e, err := openEngine(ctx, env, c, s.memory, true /* warm */, true /* calibrate */)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.dispatcher.Close()) }()
	o := regret.Options{
		Searcher: e.searcher, Analyzer: c.Snapshot.Options.Analyzer, Exec: exec.Options{Mode: exec.ModeAnd, K: stagedK},
		Policies: griffin18Policies, Others: others, Rounds: lab.Pick(env, 3, 2),
		Progress: func(done, total int) { env.Progress(s.name, done, total) },
	}
	m, err := regret.Measure(ctx, asNodes(queries), o)
	if err != nil {
		return err
	}
	r.all = append(r.all, m)
	o.Others, o.Oracle, o.Rounds = nil, true, lab.Pick(env, 4, 2)
	o.Progress = func(done, total int) { env.Progress(s.name+", every placement", done, total) }
	if m, err = regret.Measure(ctx, asNodes(lab.Pick(env, spread(queries, 330), queries[:4])), o); err != nil {
		return err
	}
	r.hindsight = append(r.hindsight, m)
	m = nil
	if s.memory != "" { // it comes last, as it leaves the GPU with lists that nobody else wants
		o.Policies, o.Oracle, o.Rounds = nil, false, 2
		o.Others = []regret.Variant{{Name: wholeName, Searcher: e.searcher, Exec: exec.Options{Mode: exec.ModeAnd, K: stagedK, Placement: exec.WholeLists()}}}
		o.Progress = func(done, total int) { env.Progress(s.name+", whole lists", done, total) }
		if m, err = regret.Measure(ctx, asNodes(queries), o); err != nil {
			return err
		}
	}
	r.whole = append(r.whole, m)
	return nil
}

// medians returns the median time of each query in microseconds under a variant of a
// setting; nil if it was not measured there. The baseline counts for both.
func (r *policyRuns) medians(setting int, variant string) []float64 {
	of := r.all
	switch variant {
	case baselineName:
		setting = 0
	case string(exec.PolicyCPU):
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
	if variant == wholeName && setting < len(r.whole) {
		return "The lists are there: it is the GPU alone."
	}
	return noDevice
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
