//go:build !nolab

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
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
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
		Short: "Compare policies for choosing between CPU and GPU",
		Long: `Policies runs every query of a file under each policy, one at a time, --rounds times
after a warm-up, and compares the answers. It prints latencies in microseconds over the
medians of queries, the speed-up over the CPU and the GPU alone, and the class of
queries in which a policy loses most to the better of both. The time of a query
includes planning, but not reading the text of the hits.

--oracle also measures every possible placement of a query's stages. The time of the
best one is the limit for any policy; the regret of a policy is its time above that
limit. One half of the rounds chooses the best placement, the other half measures it.

With --gpu-memory, each policy that uses a GPU, and the oracle, has its own lists in
GPU memory, up to that limit. Otherwise lists loaded by one policy would help or hinder
the next.

--baseline names an index of the same documents with the codec pfordelta. It is
searched like the CPU of griffin18: small versus small, pairwise, with skip pointers
(svs-binary).

--costs writes the time of each query, for griffin lab simulate; --times writes every
measured time. Policies:` + policyNames(),
		Example: `  griffin policies gov2.idx --queries tb06.tsv --mode and --device gpu --resident
  griffin policies gov2.idx --queries tb06.tsv --mode or --device gpu --gpu-memory 10% --oracle --classes
  griffin policies gov2.idx --queries tb06.tsv --device gpu --costs costs.tsv && griffin lab simulate --costs costs.tsv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.policies(cmd.Context(), o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.queries, "queries", "", "queries: TSV, JSON lines or TREC topics, of plain words (required)")
	o.rankingFlags.register(f, griffin.DefaultK)
	f.StringVar(&o.devices.device, "device", "auto", "GPUs to use: `DEVICE` is gpu (all), auto (all, if there are any), cpu (none), or numbers such as 0,1")
	o.devices.registerMemory(f)
	o.cache.register(f)
	o.resident.register(f)
	o.devices.workers = 1
	f.StringSliceVar(&o.policies, "policies", []string{"cpu", "gpu", "ratio", "query", "cost"}, "policies to compare, in this order")
	f.StringVar(&o.baseline, "baseline", "", "`INDEX` of the same documents for the baseline of griffin18")
	f.StringVar(&o.costs, "costs", "", "`FILE` for the time of each query, TSV; - writes it to standard output instead of the table")
	f.StringVar(&o.report, "report", "", "`FILE` for all figures, JSON; - writes them to standard output instead of the table")
	f.StringVar(&o.times, "times", "", "`FILE` for every measured time, TSV; - writes them to standard output instead of the table")
	f.BoolVar(&o.oracle, "oracle", false, "also measure the best placement in hindsight and the regret of each policy")
	f.BoolVar(&o.whole, "whole-lists", false, "also measure the GPU alone with whole lists loaded, as in the papers' GPU engines")
	f.BoolVar(&o.classes, "classes", false, "print the mean of each class of queries")
	f.BoolVar(&o.devices.noCalibrate, "no-calibrate", false, "do not measure query times when an index is first used with a GPU on this machine")
	f.Float64Var(&o.devices.ratio, "ratio", dispatch.DefaultRatio, "in policy ratio, stay on the GPU while the next list is less than this many times as long as the candidates")
	f.IntVar(&o.rounds, "rounds", regret.DefaultRounds, "measurements of each query under each policy")
	f.IntVar(&o.batch, "batch", 64, "queries that run together, for --costs")
	f.IntVar(&o.limit, "limit", 0, "use only the first `N` queries of the file (0: all)")
	_ = c.MarkFlagRequired("queries")
	return c
}

// policiesResult is the JSON of "griffin policies".
type policiesResult struct {
	Index    string          `json:"index"`
	Machine  string          `json:"machine"`
	Go       string          `json:"go"`
	GPU      *gpuResult      `json:"gpu,omitempty"`
	Dispatch *dispatch.Stats `json:"dispatch,omitempty"`
	// Own has the counts of policies with their own GPU memory.
	Own map[dispatch.Policy]ownResult `json:"by_policy,omitempty"`
	*regret.Report
	// Error is set if fewer rounds than requested were measured.
	Error *jsonError `json:"error,omitempty"`
}

type ownResult struct {
	GPU      *gpuResult     `json:"gpu"`
	Dispatch dispatch.Stats `json:"dispatch"`
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
	gpu, err := dispatch.OpenGPU(o.deviceOptions(policies), dispatch.ListBytes(snapshot))
	if err != nil {
		return err
	}
	d, err := a.newDispatcher(ctx, device, dir, snapshot, gpu, nil)
	if err != nil {
		return err
	}
	defer d.Close()
	if gpu == nil {
		a.notef("there is no GPU: every policy runs on the CPU")
	} else if err := a.warm(ctx, o.resident, mode == griffin.ModeSaat, warmerOf(gpu, snapshot)); err != nil {
		return err
	}
	p := policyMeasuring{app: a, policiesOptions: &o, policies: policies, snapshot: snapshot, dispatcher: d, mode: plan.Mode(mode)}
	m, interrupted := p.measure(ctx, topics)
	if m == nil {
		return interrupted
	}
	if err := writeTimes(a.console, &o, m, interrupted == nil); err != nil {
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
		printPolicies(a.console, r.Report, o.classes)
	}
	return interrupted
}

// checkOutputs returns an error if a file cannot be written, or several outputs go to standard
// output. toOutput: one does, so the table is not printed.
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

// The file of --costs needs a complete measurement.
func writeTimes(con *console, o *policiesOptions, m *regret.Measured, complete bool) error {
	if o.costs != "" && complete {
		costs, err := m.Costs()
		if err != nil {
			return err
		}
		if err := con.writeFile(o.costs, func(w io.Writer) error { return simulation.WriteCosts(w, costs) }); err != nil {
			return err
		}
	}
	if o.times == "" {
		return nil
	}
	return con.writeFile(o.times, m.WriteTimes)
}

func (o *policiesOptions) check() ([]dispatch.Policy, error) {
	var policies []dispatch.Policy
	for _, name := range o.policies {
		p, err := dispatch.ParsePolicy(name)
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
	} else if o.batch < 1 || !slices.Contains(policies, dispatch.PolicyCPU) || !slices.Contains(policies, dispatch.PolicyGPU) {
		return nil, usagef("--costs needs --batch of 1 or more, and policies cpu and gpu")
	}
	return policies, nil
}

// Without a limit, one policy takes all GPU memory.
func (o *policiesOptions) ownMemory() bool { return o.devices.memory != "" }

func (o *policiesOptions) deviceOptions(policies []dispatch.Policy) dispatch.GPUOptions {
	d := o.devices.options()
	if o.ownMemory() {
		d.Share = 1 + len(policies)
	}
	return d
}

type policyMeasuring struct {
	app *app
	*policiesOptions
	policies   []dispatch.Policy
	snapshot   *index.Snapshot
	dispatcher *dispatch.Dispatcher
	mode       plan.Mode
	own        map[dispatch.Policy]ownResult // of closed searchers
}

func (m *policyMeasuring) ownSearcher(ctx context.Context, p dispatch.Policy) (regret.OwnSearcher, error) {
	gpu, err := dispatch.OpenGPU(m.deviceOptions(m.policies), dispatch.ListBytes(m.snapshot))
	if err != nil {
		return regret.OwnSearcher{}, err
	}
	if gpu == nil {
		return regret.OwnSearcher{}, errors.New("the GPU cannot be opened once more, for memory of its own: say --device gpu to see why")
	}
	o := m.devices.dispatch()
	o.Costs = m.dispatcher.Costs()
	d, err := dispatch.NewDispatcher(gpu, o)
	if err != nil {
		return regret.OwnSearcher{}, errors.Join(err, gpu.Close())
	}
	// Its notes would repeat the notes of the first GPU.
	if _, _, err := m.app.bring(ctx, m.resident, m.mode == plan.ModeSaat, warmerOf(gpu, m.snapshot)); err != nil && !dispatch.IsGPUError(err) {
		return regret.OwnSearcher{}, errors.Join(err, d.Close())
	}
	s := dispatch.NewSearcher(m.snapshot, nil)
	s.Use(d)
	return regret.OwnSearcher{Searcher: s, Close: func() error {
		m.own[p] = ownResult{GPU: newGPUResult(gpu.Stats()), Dispatch: d.Stats()}
		return d.Close()
	}}, nil
}

func (m *policyMeasuring) measure(ctx context.Context, topics []trec.Topic) (*regret.Measured, error) {
	o, snapshot, d, mode := m.policiesOptions, m.snapshot, m.dispatcher, m.mode
	s := dispatch.NewSearcher(snapshot, nil)
	s.Use(d)
	options := regret.Options{
		Searcher: s, Analyzer: snapshot.Options.Analyzer, Exec: dispatch.Options{Mode: mode, K: o.k}, Policies: m.policies,
		Oracle: o.oracle && d.GPU() != nil, Rounds: o.rounds, Batch: o.batch,
	}
	if d.GPU() != nil && o.ownMemory() {
		m.own = map[dispatch.Policy]ownResult{}
		options.Own = func(ctx context.Context, p dispatch.Policy) (regret.OwnSearcher, error) {
			return m.ownSearcher(ctx, p)
		}
	}
	if o.baseline != "" {
		other, err := openSnapshotWithCache(o.baseline, int64(o.cache.limit))
		if err != nil {
			return nil, err
		}
		defer other.Release()
		options.Others = []regret.Variant{{
			Name: "baseline", Searcher: dispatch.NewSearcher(other, nil), Exec: dispatch.Options{Mode: mode, K: o.k, Traversal: baselineTraversal(mode)},
		}}
	}
	if o.whole && d.GPU() != nil {
		options.Others = append(options.Others, regret.Variant{Name: "gpu whole", Searcher: s, Exec: dispatch.Options{Mode: mode, K: o.k, Placement: dispatch.WholeLists()}})
	}
	nodes, err := queriesOf(topics, snapshot.Options.Weighted())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.queries, err)
	}
	queries := make([]regret.Query, len(topics))
	for i, t := range topics {
		queries[i] = regret.Query{ID: t.ID, Node: nodes[i]}
	}
	bar := m.app.newProgress()
	defer bar.close()
	progress := bar.items("measure", "passes")
	options.Progress = func(done, total int) { progress(int64(done), int64(total)) }
	return regret.Measure(ctx, queries, options)
}

// baselineTraversal is the one of the papers' CPU engines: griffin18 for AND, ding09 (DAAT
// without pruning) for OR.
func baselineTraversal(mode plan.Mode) string {
	if mode == plan.ModeOr {
		return "exhaustive-daat"
	}
	return "svs-binary"
}

func printPolicies(con *console, r *regret.Report, classes bool) {
	st := con.style(con.out)
	con.printf("%s, mode %s, k=%d, %s; µs over the queries' medians\n\n", plural(r.Queries, "query"), r.Mode, r.K, plural(r.Rounds, "round"))
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
			con.printf("%s%-10s %s%s%s\n", st.bold, "policy", line, head, st.reset)
			continue
		}
		f := &r.Variants[i-1]
		con.printf("%s\n", strings.TrimRight(fmt.Sprintf("%-10s %s  %s", f.Name, line, worst(f)), " "))
	}
	if classes {
		printClasses(con, r)
	}
}

func printClasses(con *console, r *regret.Report) {
	st := con.style(con.out)
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
	con.printf("\nmeans over the queries' least times, µs\n")
	for i, line := range alignRight(withContent(rows), 7) {
		if i == 0 {
			con.printf("%s%-24s %s%s\n", st.bold, "class", line, st.reset)
			continue
		}
		c := &r.Classes[i-1]
		con.printf("%-24s %s\n", c.By+" "+c.Name, line)
	}
}

// withContent removes columns that have only a head.
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
