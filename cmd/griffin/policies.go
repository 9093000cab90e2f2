package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/regret"
	"github.com/griffin-search/griffin/internal/sched/simulation"
	"github.com/griffin-search/griffin/trec"
)

type policiesOptions struct {
	rankingFlags
	devices       deviceFlags
	cache         cacheFlag
	resident      residentFlag
	queries       string
	policies      []string
	baseline      string
	costs, report string
	times         string
	oracle, whole bool
	classes       bool
	rounds, batch int
	limit         int
}

func newPoliciesCommand(a *app) *cobra.Command {
	var o policiesOptions
	c := &cobra.Command{
		Use:   "policies INDEX --queries FILE",
		Short: "Compare the policies that choose between CPU and GPU on a query log",
		Long: `Policies answers every query of a file under each policy, one at a time, --rounds
times after a warm-up, compares the answers, and prints latencies in microseconds over
the queries' medians, how many times as fast as the CPU and the GPU alone that is, and
the class of queries in which a policy loses most to the better of both. A query's time
is planning and running it; reading the text of the hits is not in it.

--oracle measures every placement of a query's steps, too: what the best one takes in
hindsight is what a policy could reach; what it takes more is its regret. It is chosen
by one half of the rounds and measured by the other.

With --gpu-memory each policy that has a GPU takes so much of it for lists of its own, and
the oracle, too: what one policy leaves there would serve the next, or be in its way.

--baseline names an index of the same documents with the codec pfordelta, to be searched
as griffin18's CPU does: small versus small, pairwise, with skip pointers (svs-binary).

--costs writes what each query takes, for griffin lab simulate, --times every time that was
measured. Policies:` + policyNames(),
		Example: `  griffin policies gov2.idx --queries tb06.tsv --mode and --device gpu --resident
  griffin policies gov2.idx --queries tb06.tsv --mode or --device gpu --gpu-memory 10% --oracle --classes
  griffin policies gov2.idx --queries tb06.tsv --device gpu --costs costs.tsv && griffin lab simulate --costs costs.tsv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.policies(cmd.Context(), o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.queries, "queries", "", "queries: TSV, JSON lines or TREC topics, of plain words (required)")
	o.rankingFlags.register(f, griffin.DefaultK)
	f.StringVar(&o.devices.device, "device", "auto", "GPU to use: `DEVICE` is gpu (all there are), auto (those, if any), cpu (none), or their numbers, as 0,1")
	o.devices.registerMemory(f)
	o.cache.register(f)
	o.resident.register(f)
	f.StringSliceVar(&o.policies, "policies", []string{"cpu", "gpu", "ratio", "query", "cost"}, "which, in their order")
	f.StringVar(&o.baseline, "baseline", "", "`INDEX` of the same documents for a baseline as in griffin18")
	f.StringVar(&o.costs, "costs", "", "`FILE` for what each query takes, TSV; - is standard output, without the table")
	f.StringVar(&o.report, "report", "", "`FILE` for all figures, JSON, beside the table; - is standard output, without it")
	f.StringVar(&o.times, "times", "", "`FILE` for every time that was measured, TSV; - is standard output, without the table")
	f.BoolVar(&o.oracle, "oracle", false, "measure the best placement in hindsight, and the regret of each policy")
	f.BoolVar(&o.whole, "whole-lists", false, "measure the GPU alone with all lists brought to it whole, too, as the GPU engines of the papers have it")
	f.BoolVar(&o.classes, "classes", false, "print the means of all classes of queries")
	f.BoolVar(&o.devices.noCalibrate, "no-calibrate", false, "do not measure what queries take when an index is first used with a GPU on this machine")
	f.Float64Var(&o.devices.ratio, "ratio", exec.DefaultRatio, "of policy ratio: up to how many times as long the next list may be, to stay on the GPU")
	f.IntVar(&o.rounds, "rounds", regret.DefaultRounds, "times that each query is measured in each way")
	f.IntVar(&o.batch, "batch", 64, "queries answered together, for --costs")
	f.IntVar(&o.limit, "limit", 0, "take only the first queries of the file (0: all)")
	_ = c.MarkFlagRequired("queries")
	return c
}

// policiesResult is what "griffin policies --json" prints.
type policiesResult struct {
	Index    string              `json:"index"`
	Machine  string              `json:"machine"`
	Go       string              `json:"go"`
	GPU      *gpuResult          `json:"gpu,omitempty"`
	Dispatch *exec.DispatchStats `json:"dispatch,omitempty"`
	// Own are GPU and Dispatch of each policy that had GPU memory of its own.
	Own map[exec.Policy]ownResult `json:"by_policy,omitempty"`
	*regret.Report
	// Error says why fewer rounds were measured than were asked for.
	Error *jsonError `json:"error,omitempty"`
}

// ownResult tells of a policy that had GPU memory of its own.
type ownResult struct {
	GPU      *gpuResult         `json:"gpu"`
	Dispatch exec.DispatchStats `json:"dispatch"`
}

func (a *app) policies(ctx context.Context, o policiesOptions, dir string) error {
	mode, err := o.rankingFlags.check(true /* plain words */)
	device := &o.devices
	if err == nil {
		err = errors.Join(device.check(), o.resident.check(device))
	}
	if err != nil {
		return err
	}
	policies, err := o.check()
	if err != nil {
		return err
	}
	toOutput, err := o.checkOutputs(a.json)
	if err != nil {
		return err
	}
	topics, err := readFile(ctx, a.in, o.queries, trec.ReadTopics)
	if err != nil {
		return err
	}
	if o.limit > 0 && o.limit < len(topics) {
		topics = topics[:o.limit]
	}
	snapshot, err := openSnapshotWithCache(dir, int64(o.cache.limit))
	if err != nil {
		return err
	}
	defer snapshot.Release()
	gpu, err := exec.OpenGPU(o.deviceOptions(policies), exec.ListBytes(snapshot))
	if err != nil {
		return err
	}
	d, err := a.newDispatcher(ctx, device, dir, snapshot, gpu)
	if err != nil {
		return err
	}
	defer d.Close()
	if gpu == nil {
		a.notef("there is no GPU: every policy runs on the CPU")
	} else if err := a.warm(ctx, o.resident, mode == griffin.ModeSaat, warmerOf(gpu, snapshot)); err != nil {
		return err
	}
	p := policyMeasuring{policiesOptions: &o, policies: policies, snapshot: snapshot, dispatcher: d, mode: mode}
	m, interrupted := a.measurePolicies(ctx, &p, topics)
	if m == nil {
		return interrupted
	}
	if err := a.writeTimes(&o, m, interrupted == nil); err != nil {
		return err
	}
	stats := d.Stats()
	r := policiesResult{Index: filepath.Base(dir), Machine: machine(), Go: runtime.Version(), Dispatch: &stats, Own: p.own, Report: m.Report()}
	if interrupted != nil {
		e := newJSONError("griffin policies", interrupted)
		r.Error, interrupted = &e, toldError{interrupted}
	}
	if gpu != nil {
		r.GPU = newGPUResult(gpu.Stats())
	}
	if o.report != "" {
		if err := a.writeFile(o.report, func(w io.Writer) error { return writeJSON(w, &r) }); err != nil {
			return err
		}
	}
	if a.json {
		return errors.Join(a.printJSON(&r), interrupted)
	}
	if !toOutput {
		a.printPolicies(r.Report, o.classes)
	}
	return interrupted
}

// checkOutputs returns an error if a file cannot be written, or if several of them, or one and
// asJSON, are standard output; else it reports whether one goes there in the place of the table.
func (o *policiesOptions) checkOutputs(asJSON bool) (toOutput bool, err error) {
	for _, path := range []string{o.costs, o.report, o.times} {
		if path != "-" {
			continue
		}
		if toOutput || asJSON {
			return false, usagef("of --costs -, --report -, --times - and --json only one can go to standard output")
		}
		toOutput = true
	}
	return toOutput, checkOutputs(o.costs, o.report, o.times)
}

// writeTimes writes the files of what each query takes; complete says that all was measured,
// which costs need.
func (a *app) writeTimes(o *policiesOptions, m *regret.Measured, complete bool) error {
	if o.costs != "" && complete {
		costs, err := m.Costs()
		if err != nil {
			return err
		}
		if err := a.writeFile(o.costs, func(w io.Writer) error { return simulation.WriteCosts(w, costs) }); err != nil {
			return err
		}
	}
	if o.times == "" {
		return nil
	}
	return a.writeFile(o.times, m.WriteTimes)
}

// check returns the policies that are asked for.
func (o *policiesOptions) check() ([]exec.Policy, error) {
	var policies []exec.Policy
	for _, name := range o.policies {
		p, err := exec.ParsePolicy(name)
		if err != nil {
			return nil, badFlags(err)
		}
		if slices.Contains(policies, p) {
			return nil, usagef("--policies has %s twice", p)
		}
		policies = append(policies, p)
	}
	if len(policies) == 0 {
		return nil, usagef("--policies names none")
	}
	if o.rounds < 2 || o.limit < 0 {
		return nil, usagef("--rounds must be at least 2, --limit not negative")
	}
	if o.costs == "" {
		o.batch = 0
	} else if o.batch < 1 || !slices.Contains(policies, exec.PolicyCPU) || !slices.Contains(policies, exec.PolicyGPU) {
		return nil, usagef("--costs needs --batch of 1 or more, and policies cpu and gpu")
	}
	return policies, nil
}

// ownMemory reports whether each policy is to have GPU memory of its own: where there is as
// much as there is, each cannot have it all.
func (o *policiesOptions) ownMemory() bool { return o.devices.memory != "" }

// deviceOptions are those of a GPU of one policy's, or of all.
func (o *policiesOptions) deviceOptions(policies []exec.Policy) exec.GPUOptions {
	d := o.devices.options()
	if o.ownMemory() {
		d.Share = 1 + len(policies)
	}
	return d
}

// policyMeasuring is a measurement of policies.
type policyMeasuring struct {
	*policiesOptions
	policies   []exec.Policy
	snapshot   *index.Snapshot
	dispatcher *exec.Dispatcher
	mode       exec.Mode
	own        map[exec.Policy]ownResult // of those whose searchers were closed
}

// ownSearcher opens the searcher of a policy that has a GPU's memory of its own.
func (a *app) ownSearcher(ctx context.Context, m *policyMeasuring, p exec.Policy) (regret.OwnSearcher, error) {
	gpu, err := exec.OpenGPU(m.deviceOptions(m.policies), exec.ListBytes(m.snapshot))
	if err != nil {
		return regret.OwnSearcher{}, err
	}
	if gpu == nil {
		return regret.OwnSearcher{}, errors.New("the GPU cannot be opened once more, for memory of its own: say --device gpu to see why")
	}
	o := m.devices.dispatch()
	o.Costs = m.dispatcher.Costs()
	d, err := exec.NewDispatcher(gpu, o)
	if err != nil {
		return regret.OwnSearcher{}, errors.Join(err, gpu.Close())
	}
	// What is to say of it was said of the first GPU.
	if _, _, err := a.bring(ctx, m.resident, m.mode == griffin.ModeSaat, warmerOf(gpu, m.snapshot)); err != nil && !exec.IsGPUError(err) {
		return regret.OwnSearcher{}, errors.Join(err, d.Close())
	}
	s := exec.NewSearcher(m.snapshot, nil)
	s.Use(d)
	return regret.OwnSearcher{Searcher: s, Close: func() error {
		m.own[p] = ownResult{GPU: newGPUResult(gpu.Stats()), Dispatch: d.Stats()}
		return d.Close()
	}}, nil
}

// measurePolicies measures the queries, with a progress bar.
func (a *app) measurePolicies(ctx context.Context, m *policyMeasuring, topics []trec.Topic) (*regret.Measured, error) {
	o, snapshot, d, mode := m.policiesOptions, m.snapshot, m.dispatcher, m.mode
	s := exec.NewSearcher(snapshot, nil)
	s.Use(d)
	options := regret.Options{
		Searcher: s, Analyzer: snapshot.Options.Analyzer, Exec: exec.Options{Mode: mode, K: o.k}, Policies: m.policies,
		Oracle: o.oracle && d.GPU() != nil, Rounds: o.rounds, Batch: o.batch,
	}
	if d.GPU() != nil && o.ownMemory() {
		m.own = map[exec.Policy]ownResult{}
		options.Own = func(ctx context.Context, p exec.Policy) (regret.OwnSearcher, error) { return a.ownSearcher(ctx, m, p) }
	}
	if o.baseline != "" {
		other, err := openSnapshotWithCache(o.baseline, int64(o.cache.limit))
		if err != nil {
			return nil, err
		}
		defer other.Release()
		options.Others = []regret.Variant{{
			Name: "baseline", Searcher: exec.NewSearcher(other, nil), Exec: exec.Options{Mode: mode, K: o.k, Traversal: baselineTraversal(mode)},
		}}
	}
	if o.whole && d.GPU() != nil {
		options.Others = append(options.Others, regret.Variant{Name: "gpu whole", Searcher: s, Exec: exec.Options{Mode: mode, K: o.k, Placement: exec.WholeLists()}})
	}
	nodes, err := queriesOf(topics, snapshot.Options.Weighted())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.queries, err)
	}
	queries := make([]regret.Query, len(topics))
	for i, t := range topics {
		queries[i] = regret.Query{ID: t.ID, Node: nodes[i]}
	}
	bar := a.newProgress()
	defer bar.close()
	progress := bar.items("measure", "passes")
	options.Progress = func(done, total int) { progress(int64(done), int64(total)) }
	return regret.Measure(ctx, queries, options)
}

// baselineTraversal is what stands for the CPU engines of the papers: griffin18's for
// AND, ding09's (DAAT without pruning) for OR.
func baselineTraversal(mode exec.Mode) string {
	if mode == exec.ModeOr {
		return "exhaustive-daat"
	}
	return "svs-binary"
}

func (a *app) printPolicies(r *regret.Report, classes bool) {
	st := a.style(a.out)
	a.printf("%s, mode %s, k=%d, %s; µs over the queries' medians\n\n", plural(r.Queries, "query"), r.Mode, r.K, plural(r.Rounds, "round"))
	rows := [][]string{{"mean", "p50", "p95", "p99", "p99.9", "x cpu", "x gpu", "regret", "on gpu", "on both"}}
	onGPU := slices.ContainsFunc(r.Variants, func(f regret.Figures) bool { return f.OnGPU > 0 })
	for i := range r.Variants {
		f := &r.Variants[i]
		l := &f.Latency
		var row []string
		for _, v := range []float64{l.Mean, l.P50, l.P95, l.P99, l.P999} {
			row = append(row, fmt.Sprintf("%.1f", v))
		}
		row = append(row, times(f.OverCPU), times(f.OverGPU), percentMore(f.Regret))
		if onGPU {
			row = append(row, fmt.Sprintf("%.0f%%", 100*f.OnGPU), fmt.Sprintf("%.0f%%", 100*f.OnBoth))
		} else {
			row = append(row, "", "")
		}
		rows = append(rows, row)
	}
	head := ""
	if slices.ContainsFunc(r.Variants, func(f regret.Figures) bool { return f.Excess != nil }) {
		head = "  worst class"
	}
	for i, line := range alignRight(withContent(rows), 7) {
		if i == 0 {
			a.printf("%s%-10s %s%s%s\n", st.bold, "policy", line, head, st.reset)
			continue
		}
		f := &r.Variants[i-1]
		a.printf("%s\n", strings.TrimRight(fmt.Sprintf("%-10s %s  %s", f.Name, line, worst(f)), " "))
	}
	if classes {
		a.printClasses(r)
	}
}

// printClasses prints the means of all classes of queries, a column a policy.
func (a *app) printClasses(r *regret.Report) {
	st := a.style(a.out)
	rows := [][]string{{"queries"}}
	for i := range r.Variants {
		rows[0] = append(rows[0], r.Variants[i].Name)
	}
	for _, c := range r.Classes {
		row := []string{count(c.Queries)}
		for i := range r.Variants {
			cell := ""
			if mean, ok := c.Mean[r.Variants[i].Name]; ok {
				cell = fmt.Sprintf("%.1f", mean)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	a.printf("\nmeans over the queries' least times, µs\n")
	for i, line := range alignRight(withContent(rows), 7) {
		if i == 0 {
			a.printf("%s%-24s %s%s\n", st.bold, "class", line, st.reset)
			continue
		}
		c := &r.Classes[i-1]
		a.printf("%-24s %s\n", c.By+" "+c.Name, line)
	}
}

// withContent returns rows without the columns that have a head and nothing else.
func withContent(rows [][]string) [][]string {
	kept := make([][]string, len(rows))
	for j := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[j] != "" }) {
			continue
		}
		for i, row := range rows {
			kept[i] = append(kept[i], row[j])
		}
	}
	return kept
}

func times(p *regret.Percentiles) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", p.Mean)
}

func percentMore(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%+.1f%%", 100**v)
}

func worst(f *regret.Figures) string {
	if f.Excess == nil {
		return ""
	}
	return cmp.Or(percentMore(f.Excess)+" in "+f.Worst, "")
}
