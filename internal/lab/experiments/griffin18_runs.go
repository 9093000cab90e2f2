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

// policyRuns are the measurements of the three experiments, by setting. Where one is missing,
// failed says why.
type policyRuns struct {
	// all has every query under each policy, and the baseline in the first. Without a GPU
	// there is the first only, with policy cpu.
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
	measured, _ := every4th(queries)
	measured = lab.Pick(env, measured, measured[:8])
	m := &policyMeasuring{env: env, c: c, queries: measured}
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
	for i, s := range settings {
		if err := r.measure(ctx, m, i, s, baseline, hindsight); err != nil {
			return nil, true, "", err
		}
	}
	if r.all[0] == nil {
		return nil, true, "", fmt.Errorf("%s: %s", settings[0].name, r.failed[partAll][0])
	}
	return r, true, "", nil
}

// measure adds the measurements of a setting. The error is that of ctx.
func (r *policyRuns) measure(ctx context.Context, m *policyMeasuring, i int, s setting, baseline regret.Variant, hindsight bool) error {
	var others []regret.Variant
	if i == 0 { // it has nothing to do with the GPU
		others = []regret.Variant{baseline}
	}
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
		Policies: griffin18Policies, Others: others, Rounds: lab.Pick(m.env, 3, 2),
	}); err != nil {
		return err
	}
	if err := add(partHindsight, &r.hindsight, hindsight, lab.Pick(m.env, spread(m.queries, 330), m.queries[:4]), "every placement", regret.Options{
		Policies: griffin18Policies, Oracle: true, Rounds: lab.Pick(m.env, 4, 2),
	}); err != nil {
		return err
	}
	return add(partWhole, &r.whole, s.memory != "", m.queries, "whole lists", regret.Options{
		Others: []regret.Variant{{Name: wholeName, Exec: exec.Options{Mode: exec.ModeAnd, K: stagedK, Placement: exec.WholeLists()}}}, Rounds: 2,
	})
}

// policyMeasuring is one of the measurements under way.
type policyMeasuring struct {
	env     *lab.Env
	c       *lab.Collection
	queries []lab.Query
	o       regret.Options
}

// inSetting makes a measurement in a setting, or returns it if it was made. It has the GPU for
// itself: what one leaves there is not what the next one wants.
func (m *policyMeasuring) inSetting(ctx context.Context, s setting, what string) (*regret.Measured, error) {
	return lab.Shared(m.env, "griffin18 "+s.name+", "+what, func() (measured *regret.Measured, err error) {
		e, err := openEngine(ctx, m.env, m.c, s.memory, true /* warm */, len(m.o.Policies) > 0 /* calibrate */)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, e.dispatcher.Close()) }()
		return m.on(ctx, e.searcher, s.name+", "+what)
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
