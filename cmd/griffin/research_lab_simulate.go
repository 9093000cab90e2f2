//go:build !nolab

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/sched/simulation"
)

type labSimulateOptions struct {
	costs     string
	predicted string
	arrivals  string
	policies  []string
	rates     string
	find      bool
	ding09    bool
	p99       time.Duration
	out       string
	queries   int
	relative  float64
	seed      uint64
	sched     sched.Options
	fifo      bool
}

func newLabSimulateCommand(a *app) *cobra.Command {
	var o labSimulateOptions
	c := &cobra.Command{
		Use:   "simulate --costs FILE",
		Short: "Simulate policies at any arrival rate",
		Long: `Simulate runs the scheduler in virtual time: queries arrive at random (a Poisson
process) or as recorded, wait, and run for their measured time on a processor. Arrivals
never slow down, and latency counts from the arrival. The table has, for each policy
and rate, latencies in ms; ` + "`failed`" + ` queries, which were shed or
missed their deadline; ` + "`good/s`" + `, the queries per second answered in time; the load of ` + "`cpu`" + `
and ` + "`gpu`" + `; the queries that ran ` + "`on gpu`" + `, their batch sizes, and the queries ` + "`stolen`" + ` by
the other processor.

--find searches for the highest rate that each policy sustains. A rate slightly above
it fails only after its queue has grown, so a run then lasts at least 200 deadlines (or
--p99 times).

FILE has a line for each query, separated by tabs: id, microseconds on the CPU, on the
GPU, and added to a batch on the GPU, and the postings of its shortest list. The last
two are optional; - marks a processor that cannot run the query.

Policies: cpu, gpu, ratio, query, batch, cost. --ding09 runs instead the four
configurations of Ding et al. (WWW 2009, Fig. 7): GPU only, CPU only, the better of both
one query at a time, and both in parallel, on one processor and one GPU.`,
		Example: "  griffin lab simulate --costs costs.tsv --rates 1000:20000:1000 --deadline 10ms --cpus 16\n" +
			"  griffin lab simulate --costs costs.tsv --policies cpu,cost --find --p99 10ms --cpus 16 --lanes 2\n" +
			"  griffin lab simulate --costs costs.tsv --ding09 --error 0.22 --rates 50:500:50 --out fig7.svg\n" +
			"  griffin lab simulate --costs costs.tsv --arrivals log.tsv --rates 0",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.labSimulate(cmd.Context(), &o) },
	}
	o.register(c.Flags())
	_ = c.MarkFlagRequired("costs")
	c.MarkFlagsMutuallyExclusive("ding09", "policies")
	c.MarkFlagsMutuallyExclusive("predicted", "error")
	c.MarkFlagsMutuallyExclusive("find", "rates")
	c.MarkFlagsMutuallyExclusive("find", "out")
	for _, fixed := range []string{"cpus", "lanes", "window", "max-queue", "work", "run-late", "fifo"} {
		c.MarkFlagsMutuallyExclusive("ding09", fixed)
	}
	return c
}

func (o *labSimulateOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.costs, "costs", "", "`FILE` of measured times of queries, TSV; - is standard input (required)")
	f.StringVar(&o.predicted, "predicted", "", "`FILE` of predicted times for the scheduler, of the same queries and in the format of --costs (default: the measured times)")
	f.StringVar(&o.arrivals, "arrivals", "", "`FILE` of recorded arrivals to replay: seconds, tab, id of the query (default: at random)")
	f.StringSliceVar(&o.policies, "policies", []string{"cpu", "gpu", "query", "cost"}, "policies to compare")
	f.BoolVar(&o.ding09, "ding09", false, "run the configurations of Ding et al. (WWW 2009, Fig. 7)")
	f.StringVar(&o.rates, "rates", "", "`RATES` of arrivals per second: 100,200 or FROM:TO:STEP; 0: as recorded (default: from a tenth to twice the capacity of the CPUs)")
	f.BoolVar(&o.find, "find", false, "find the highest rate that each policy sustains, instead of --rates")
	f.DurationVar(&o.p99, "p99", 0, "with --find: a rate is sustained if the 99th percentile is within this `TIME` and no query is shed (default: if no query fails); with --out: draw the 99th percentile instead of the mean")
	f.IntVar(&o.queries, "queries", 100_000, "arrivals per rate; with --find the minimum")
	f.Float64Var(&o.relative, "error", 0, "mean relative error of predicted times: 0.2 is 20 %")
	f.Uint64Var(&o.seed, "seed", 1, "seed of arrivals and errors")
	f.IntVar(&o.sched.CPUs, "cpus", 1, "processors")
	f.IntVar(&o.sched.Lanes, "lanes", 1, "lanes of GPUs: batches that run at once")
	f.DurationVar(&o.sched.Deadline, "deadline", 0, "time limit of a query; 0: none (--ding09: 500ms)")
	f.DurationVar(&o.sched.Window, "window", 0, "time that a query may wait at an idle GPU for others")
	f.IntVar(&o.sched.MaxBatch, "max-batch", 0, fmt.Sprintf("queries that share a launch (default %d; --ding09: 1)", sched.DefaultMaxBatch))
	f.IntVar(&o.sched.MaxQueue, "max-queue", 0, "queries that may wait; -1: any number (default: 64 per CPU and a batch per lane, at most 1024)")
	f.Int64Var(&o.sched.Work, "work", 0, "computational threshold of policy batch, in postings (default 1 M)")
	f.BoolVar(&o.sched.RunLate, "run-late", false, "run queries that cannot end in time instead of shedding them")
	f.BoolVar(&o.fifo, "fifo", false, "first come, first served")
	f.StringVarP(&o.out, "out", "o", "", "`FILE` for a plot of latency over rate, SVG")
}

// simulateResult is the JSON of "griffin lab simulate".
type simulateResult struct {
	Queries int           `json:"queries"`
	Runs    []simulated   `json:"runs"`
	Took    time.Duration `json:"took_ns"`
}

type simulated struct {
	Name    string               `json:"name"`
	Results []*simulation.Result `json:"results,omitempty"`
	// SustainedRate is the highest sustained rate (--find): 0 if every rate fails, nil if
	// none does.
	SustainedRate *float64 `json:"sustained_rate,omitempty"`
}

func (a *app) labSimulate(ctx context.Context, o *labSimulateOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	queries, err := readFile(ctx, a.in, o.costs, simulation.ReadCosts)
	if err != nil {
		return err
	}
	load := simulation.Load{Arrivals: o.queries, Seed: o.seed}
	if o.arrivals != "" {
		load.Replay, err = readFile(ctx, a.in, o.arrivals, func(r io.Reader) ([]simulation.Arrival, error) {
			return simulation.ReadArrivals(r, queries)
		})
		if err != nil {
			return err
		}
		if simulation.Rate(load.Replay) == 0 {
			return fmt.Errorf("%s: %w: all arrivals are of one moment, and so have no rate", o.arrivals, griffin.ErrBadInput)
		}
	}
	runs, err := o.configurations(queries)
	if err != nil {
		return err
	}
	if o.find {
		load.Span = simulation.SpanFor(max(runs[0].Options.Sched.Deadline, o.p99))
	}
	if o.predicted != "" {
		predicted, err := readFile(ctx, a.in, o.predicted, simulation.ReadCosts)
		if err != nil {
			return err
		}
		for i := range runs {
			runs[i].Options.Predicted = predicted
		}
	}
	var rates []float64
	if !o.find {
		if rates, err = o.parseRates(queries, &load); err != nil {
			return err
		}
	}
	start := time.Now()
	results, err := a.simulateAll(ctx, o, runs, load, rates)
	if err != nil {
		return badFlags(err)
	}
	if o.out != "" {
		if err := drawSimulated(a.console, o, results); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(simulateResult{Queries: len(queries), Runs: results, Took: time.Since(start)})
	}
	numArrivals := load.Arrivals
	if load.Replay != nil {
		numArrivals = len(load.Replay)
	}
	a.printf("%s", simulatedTable(o, numArrivals, len(queries), results).Text())
	if o.out != "" {
		a.printf("→ %s\n", o.out)
	}
	return nil
}

func (o *labSimulateOptions) check() error {
	switch {
	case o.queries < 1:
		return usagef("--queries %d: must be at least 1", o.queries)
	case o.sched.CPUs < 0 || o.sched.Lanes < 0 || o.sched.MaxBatch < 0 || o.sched.Work < 0:
		return usagef("--cpus, --lanes, --max-batch and --work cannot be negative")
	case o.sched.Deadline < 0 || o.sched.Window < 0 || o.p99 < 0:
		return usagef("--deadline, --window and --p99 cannot be negative")
	case o.sched.MaxQueue < -1:
		return usagef("--max-queue %d: must be at least -1, which is any number", o.sched.MaxQueue)
	case o.p99 > 0 && !o.find && o.out == "":
		return usagef("--p99 requires --find or --out")
	case len(o.policies) == 0:
		return usagef("--policies names none")
	}
	for i, name := range o.policies {
		if slices.Contains(o.policies[:i], name) {
			return usagef("--policies has %s twice", name)
		}
	}
	return checkOutputs(o.out)
}

func (o *labSimulateOptions) configurations(queries []simulation.Query) ([]simulation.Configuration, error) {
	if o.fifo {
		o.sched.Stretch = -1
	}
	if o.sched.CPUs == 0 { // 0 is the default of sched
		o.sched.CPUs = -1
	}
	if o.ding09 {
		runs := simulation.Ding09(queries, o.sched.Deadline, o.relative, o.seed)
		for i := range runs {
			if s := &runs[i].Options.Sched; o.sched.MaxBatch > 0 {
				s.MaxBatch = o.sched.MaxBatch
			}
		}
		return runs, nil
	}
	runs := make([]simulation.Configuration, 0, len(o.policies))
	for _, name := range o.policies {
		policy, err := sched.ParsePolicy(name)
		if err != nil {
			return nil, badFlags(err)
		}
		s := o.sched
		s.Policy = policy
		runs = append(runs, simulation.Configuration{Name: name, Options: simulation.Options{
			Sched: s, Queries: queries, Error: o.relative, Seed: o.seed,
		}})
	}
	return runs, nil
}

func (o *labSimulateOptions) parseRates(queries []simulation.Query, load *simulation.Load) ([]float64, error) {
	number := func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= 0) || math.IsInf(v, 0) {
			return 0, usagef("--rates: %q is no rate", s)
		}
		if v > simulation.HighestRate {
			return 0, usagef("--rates: %s is more than %s a second, of which arrivals can be told apart", s, count(int64(simulation.HighestRate)))
		}
		if v == 0 {
			if v = simulation.Rate(load.Replay); v == 0 {
				return 0, usagef("--rates 0 wants --arrivals")
			}
		}
		return v, nil
	}
	if o.rates == "" {
		return defaultRates(queries, o.sched.CPUs), nil
	}
	if ends := strings.Split(o.rates, ":"); len(ends) > 1 {
		var v [3]float64
		if len(ends) != len(v) {
			return nil, usagef("--rates %s: want FROM:TO:STEP", o.rates)
		}
		if step, err := strconv.ParseFloat(ends[2], 64); err == nil && step == 0 {
			return nil, usagef("--rates %s: the step is 0", o.rates)
		}
		for i := range v {
			var err error
			if v[i], err = number(ends[i]); err != nil {
				return nil, err
			}
		}
		const most = 10_000
		if v[1] < v[0] || (v[1]-v[0])/v[2] > most {
			return nil, usagef("--rates %s: want FROM:TO:STEP, of at most %d rates", o.rates, most)
		}
		var rates []float64
		for i := 0; v[0]+float64(float64(i)*v[2]) <= v[1]*(1+1e-9); i++ {
			rates = append(rates, v[0]+float64(float64(i)*v[2]))
		}
		return rates, nil
	}
	var rates []float64
	for s := range strings.SplitSeq(o.rates, ",") {
		v, err := number(strings.TrimSpace(s))
		if err != nil {
			return nil, err
		}
		rates = append(rates, v)
	}
	return rates, nil
}

// defaultRates are around the capacity of the CPUs or, without CPUs, of one lane.
func defaultRates(queries []simulation.Query, cpus int) []float64 {
	var sum time.Duration
	n := 0
	for i := range queries {
		d := queries[i].CPU
		if cpus <= 0 {
			d = queries[i].GPU
		}
		if d != sched.Never {
			sum += d
			n++
		}
	}
	if n == 0 {
		return []float64{1}
	}
	capacity := min(float64(max(cpus, 1))*float64(n)/sum.Seconds(), simulation.HighestRate/4)
	var rates []float64
	for _, part := range []float64{0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1, 1.2, 1.5, 2} {
		rates = append(rates, roundTo(2, part*capacity))
	}
	return rates
}

// digits are significant digits of a non-negative number.
func roundTo(digits int, v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(v))) - digits + 1)
	return math.Round(v/unit) * unit
}

// simulateAll takes every rate, or searches for the highest sustained one.
func (a *app) simulateAll(ctx context.Context, o *labSimulateOptions, runs []simulation.Configuration, load simulation.Load, rates []float64) ([]simulated, error) {
	bar := a.newProgress()
	defer bar.close()
	accept := func(r *simulation.Result) bool { return !r.Failed() }
	if o.p99 > 0 {
		accept = func(r *simulation.Result) bool { return r.Shed == 0 && r.Latency.P99 <= o.p99 }
	}
	results := make([]simulated, len(runs))
	for i, run := range runs {
		results[i].Name = run.Name
		if o.find {
			bar.show(run.Name, int64(i), int64(len(runs)), "simulate")
			run.Options.UntilFailed = o.p99 == 0
			rate, err := simulation.SustainedRate(ctx, run.Options, load, accept)
			if err != nil {
				return nil, err
			}
			if rate < simulation.HighestRate {
				results[i].SustainedRate = &rate
				if load.Cut(rate) {
					a.notef("%s: the sustained rate may be below %.0f queries/s: only %d arrivals were simulated, fewer than arrive in 200 deadlines", run.Name, rate, simulation.MaxArrivals)
				}
				continue
			}
			a.notef("%s fails at no rate; set a limit with --deadline or --p99", run.Name)
			continue
		}
		for j, rate := range rates {
			bar.show(run.Name, int64(j), int64(len(rates)), "simulate")
			r, err := simulation.At(ctx, run.Options, load, rate)
			if err != nil {
				return nil, err
			}
			results[i].Results = append(results[i].Results, r)
		}
	}
	return results, nil
}

// simulatedTable has a row for each run and rate or, with --find, for each run.
func simulatedTable(o *labSimulateOptions, numArrivals, numQueries int, runs []simulated) *lab.Table {
	title := fmt.Sprintf("%s of %s", plural(numArrivals, "arrival"), plural(numQueries, "query"))
	if o.find {
		title = fmt.Sprintf("at least %s", title)
		names := make([]string, len(runs))
		for i := range runs {
			names[i] = runs[i].Name
		}
		t := lab.NewTable(title, "run", names, []string{"sustains, queries/s"})
		for i := range runs {
			switch rate := runs[i].SustainedRate; {
			case rate == nil:
				t.SetText(i, 0, "any rate")
			case *rate == 0:
				t.SetText(i, 0, "no rate")
			default:
				t.Set(i, 0, *rate)
			}
		}
		return t
	}
	columns := []string{"rate/s", "mean ms", "p50", "p95", "p99", "p99.9", "failed %", "good/s", "cpu %", "gpu %", "on gpu %", "batch", "stolen %"}
	var names []string
	for i := range runs {
		for range runs[i].Results {
			names = append(names, runs[i].Name)
		}
	}
	t := lab.NewTable(title, "run", names, columns)
	row := 0
	for i := range runs {
		for _, r := range runs[i].Results {
			percent := func(n int) float64 { return 100 * float64(n) / float64(r.Arrivals) }
			ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
			l := &r.Latency
			for column, v := range []float64{
				r.Rate, ms(l.Mean), ms(l.P50), ms(l.P95), ms(l.P99), ms(l.P999), percent(r.Missed + r.Shed), r.Goodput,
				100 * r.Busy[sched.CPU], 100 * r.Busy[sched.GPU], 100 * r.Share[sched.GPU], r.Batch, percent(r.Stolen),
			} {
				if column != 0 { // the rate is not rounded
					v = roundTo(3, v)
				}
				t.Set(row, column, v)
			}
			row++
		}
	}
	return t
}

// drawSimulated draws the mean latency over the rate up to the first failure, as in ding09 Fig.
// 7, or with --p99 the 99th percentile.
func drawSimulated(con *console, o *labSimulateOptions, runs []simulated) error {
	f := lab.Figure{Title: "Simulated queries", Kind: lab.Lines, X: "arrivals, queries/s", Y: "mean latency, ms", LogY: true}
	if o.p99 > 0 {
		f.Y = "99th percentile of latency, ms"
	}
	for i := range runs {
		s := lab.Series{Name: runs[i].Name}
		for _, r := range runs[i].Results {
			if o.p99 == 0 && r.Failed() {
				break
			}
			l := r.Latency.Mean
			if o.p99 > 0 {
				l = r.Latency.P99
			}
			if l > 0 && r.Rate > 0 {
				s.Points = append(s.Points, lab.Point{X: r.Rate, Y: l.Seconds() * 1000})
			}
		}
		if len(s.Points) == 0 {
			con.notef("not drawn, because queries fail at the first rate: %s", s.Name)
			continue
		}
		f.Series = append(f.Series, s)
	}
	if len(f.Series) == 0 {
		return usagef("nothing to draw: every run failed at its first rate")
	}
	svg, err := f.SVG()
	if err != nil {
		return err
	}
	return con.writeFile(o.out, func(w io.Writer) error {
		_, err := w.Write(svg)
		return err
	})
}
