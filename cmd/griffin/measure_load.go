package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/load"
	"github.com/griffin-search/griffin/trec"
)

type loadOptions struct {
	queries   string
	modeName  string
	k         int
	syntax    bool
	batch     int
	index     string // of a server
	rates     []float64
	p99       time.Duration
	maxRate   float64
	within    time.Duration
	duration  time.Duration
	warmup    time.Duration
	timeout   time.Duration
	arrivals  string
	seed      uint64
	soak      bool
	every     time.Duration
	readings  string
	svg       string
	inProcess inProcessFlags
}

func newLoadCommand(a *app) *cobra.Command {
	var o loadOptions
	c := &cobra.Command{
		Use:   "load URL|INDEX --queries FILE",
		Short: "Measure a server or an index under load",
		Long: `Load sends the queries of a file to a server (griffin serve) or to an index in this
process. It works in an open loop: queries are sent at scheduled times, whether earlier
ones are answered or not. Latency counts from the scheduled time, so it includes the
wait for a server that stalls.

--rate measures one or several rates. --p99 finds the highest rate at which 99 % of
queries are answered within a time, starting at --rate. --soak applies one rate for a
long time, reads the server's memory and goroutines at intervals, and fails if they
grow or a query fails.

The table has a row for each rate: latencies in ms; goodput (answers in time per
second); rejected queries (429: too many of this client, 503: overloaded, 504: deadline
missed); faults (any other query without an answer). If a --rate has faults, the exit
code is 1. Ctrl-C ends the measurement and prints the results so far.

--batch N sends N queries in each request, as one batch (POST /INDEX/_msearch). Rates,
goodput and faults still count queries; latencies are those of whole batches. A server
must serve a folder of indexes.`,
		Example: `  griffin load http://127.0.0.1:7280 --queries tb06.tsv --rate 100,200,400 --for 30s
  griffin load http://127.0.0.1:7280 --queries tb06.tsv --p99 10ms --rate 1000 --svg load.svg
  griffin load http://127.0.0.1:7280 --queries tb06.tsv --batch 100 --p99 10ms --rate 5000
  griffin load wiki.idx --queries tb06.tsv --device gpu --resident --p99 10ms
  griffin load http://127.0.0.1:7280 --queries tb06.tsv --soak --for 30m --rate 800`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, of := range [][2]string{{"every", "soak"}, {"max-rate", "p99"}} {
				if cmd.Flags().Changed(of[0]) && !cmd.Flags().Changed(of[1]) {
					return usagef("--%s requires --%s", of[0], of[1])
				}
			}
			if given := o.inProcess.given(cmd.Flags()); isAddress(args[0]) && len(given) > 0 {
				return usagef("%s: only for an index in this process, and %s is a server; pass them to griffin serve", strings.Join(given, ", "), args[0])
			}
			if !isAddress(args[0]) && o.index != "" {
				return usagef("--index is for a server, and %s is none", args[0])
			}
			if o.inProcess.traceEvery < 0 || o.inProcess.traceEvery > 0 && o.batch > 0 {
				return usagef("--trace-every needs a number of at least 1, and no --batch")
			}
			if cmd.Flags().Changed("batch") && (o.batch < 1 || o.batch > maxBatch) {
				return usagef("--batch %d: must be from 1 to %d", o.batch, maxBatch)
			}
			return a.load(cmd.Context(), &o, args[0])
		},
	}
	o.register(c.Flags())
	_ = c.MarkFlagRequired("queries")
	c.MarkFlagsMutuallyExclusive("p99", "soak")
	c.MarkFlagsMutuallyExclusive("p99", "within")
	return c
}

// maxBatch is the number of searches that a multi-search may have.
const maxBatch = 10_000

func (o *loadOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.queries, "queries", "", "queries: TSV, JSON lines or TREC topics (required)")
	f.StringVar(&o.modeName, "mode", "or", "match any word (or), all words (and), all or else any (and+or), or any by impact-ordered lists (saat)")
	f.IntVarP(&o.k, "k", "k", griffin.DefaultK, "hits for each query")
	f.BoolVar(&o.syntax, "syntax", false, "parse queries as query syntax: \"phrases\", +, -, …")
	f.IntVar(&o.batch, "batch", 0, "send `N` queries in each request, as a batch (default: each query in a request of its own)")
	f.StringVar(&o.index, "index", "", "`NAME` of the index of a server of several (default: the only one)")
	f.Float64SliceVar(&o.rates, "rate", []float64{100}, "`RATE,…` in queries per second; several rates are measured one after another")
	f.Lookup("rate").DefValue = "100"
	f.DurationVar(&o.p99, "p99", 0, "find the highest rate at which 99 % of queries are answered within this `TIME`")
	f.Float64Var(&o.maxRate, "max-rate", 1e6, "with --p99, the highest rate to try")
	f.Lookup("max-rate").DefValue = "1000000"
	f.DurationVar(&o.within, "within", 0, "count only answers within this `TIME` in the goodput (default: all)")
	f.DurationVar(&o.duration, "for", 10*time.Second, "measured time for each rate")
	f.DurationVar(&o.warmup, "warmup", 2*time.Second, "warm-up time before each measurement")
	f.DurationVar(&o.timeout, "wait", 10*time.Second, "wait for an answer at most this long")
	f.StringVar(&o.arrivals, "arrivals", string(load.Poisson), "intervals between queries: poisson (random) or constant")
	f.Uint64Var(&o.seed, "seed", 1, "seed of random arrivals")
	f.BoolVar(&o.soak, "soak", false, "apply one rate for a long time, and fail if memory or goroutines grow")
	f.DurationVar(&o.every, "every", 0, "with --soak, the interval between readings (default: a hundredth of --for, at least 1s)")
	f.StringVar(&o.readings, "readings", "", "with --soak, `FILE` to append each reading to, as a line of JSON")
	f.StringVar(&o.svg, "svg", "", "`FILE` for a plot of the result")
	o.inProcess.register(f)
}

func (o *loadOptions) check() (load.Options, griffin.Mode, error) {
	lo := load.Options{
		Batch: o.batch, Seed: o.seed, Warmup: o.warmup, Duration: o.duration, Bound: o.within, Timeout: o.timeout, Every: o.every,
	}
	var err error
	if lo.Arrivals, err = load.ParseArrivals(o.arrivals); err != nil {
		return lo, 0, usagef("--%w", err)
	}
	if err := oneOf("--mode", o.modeName, "or", "and", "and+or", "saat"); err != nil {
		return lo, 0, err
	}
	if o.k < 1 || o.k > griffin.MaxK {
		return lo, 0, usagef("--k %d: must be from 1 to %d", o.k, griffin.MaxK)
	}
	if o.duration <= 0 || o.timeout <= 0 || o.warmup < 0 || o.within < 0 || o.every < 0 || o.p99 < 0 {
		return lo, 0, usagef("--for and --wait must be more than 0, --warmup, --within, --every and --p99 not less")
	}
	for _, r := range o.rates {
		if !(r > 0 && r <= 1e7) {
			return lo, 0, usagef("--rate %g: must be more than 0, and not more than 10,000,000", r)
		}
	}
	if n := len(o.rates); n == 0 || n > 1 && (o.soak || o.p99 > 0) || o.p99 > 0 && !(o.maxRate >= o.rates[0]) {
		return lo, 0, usagef("--soak and --p99 need one --rate, at most --max-rate")
	}
	if o.readings != "" && !o.soak {
		return lo, 0, usagef("--readings is of --soak")
	}
	if o.readings == "-" {
		return lo, 0, usagef("--readings -: want a file, as standard output has the result")
	}
	if o.p99 > 0 {
		lo.Bound = o.p99
	}
	if lo.Every == 0 {
		const readings = 100
		lo.Every = max(o.duration/readings, time.Second)
	}
	if n := int64(o.duration / lo.Every); o.soak && n <= load.MinSamples {
		return lo, 0, usagef("--soak reads every %v, %s in --for %v: give it time for more than %d, or a shorter --every",
			lo.Every, plural(n, "time"), o.duration, load.MinSamples)
	}
	o.inProcess.adjustMode(&o.modeName)
	mode, err := griffin.ParseMode(o.modeName)
	return lo, mode, errors.Join(err, o.inProcess.check(), checkFigure(o.svg))
}

// hint adds to an error what a server needs for the load.
func (o *loadOptions) hint(err error) error {
	switch {
	case errors.Is(err, base.ErrNotIndex):
		return hintedError{err, "GET /_cat/indices lists the indexes of the server"}
	case errors.Is(err, syscall.ECONNREFUSED) && o.batch == 0 && o.index == "":
		return hintedError{err, "start a server with: griffin serve INDEX"}
	}
	return err
}

// loadResult is the JSON of "griffin load".
type loadResult struct {
	Target  string       `json:"target"`
	Queries int          `json:"queries"`
	Mode    griffin.Mode `json:"mode"`
	K       int          `json:"k"`
	// Batch is the number of queries of each request; 0: one, which is no batch.
	Batch    int    `json:"batch,omitempty"`
	Arrivals string `json:"arrivals"`
	Seed     uint64 `json:"seed"`
	// BoundMicros is the time limit of the goodput; 0: none.
	BoundMicros int64        `json:"bound_us,omitempty"`
	Points      []load.Point `json:"points"`
	// Highest is the highest sustained rate of scheduled arrivals, with --p99; 0: none.
	Highest *float64 `json:"highest_rate,omitempty"`
	// Parts are those of each point, with --trace-every.
	Parts [][]loadPart `json:"parts,omitempty"`
	// Of --soak.
	Samples []load.Sample `json:"samples,omitempty"`
	Verdict *load.Verdict `json:"verdict,omitempty"`
	// Of an index in this process, including the warm-up.
	Dispatch    *griffin.DispatchStats    `json:"dispatch,omitempty"`
	GPU         *griffin.GPUStats         `json:"gpu,omitempty"`
	ResultCache *griffin.ResultCacheStats `json:"result_cache,omitempty"`
	Machine     string                    `json:"machine"` // that sends the load
	// Error is the reason for missing results, the number of faults, or the failure of the soak
	// test.
	Error *jsonError `json:"error,omitempty"`

	interrupted bool // in the last point
}

func (a *app) load(ctx context.Context, o *loadOptions, target string) error {
	lo, mode, err := o.check()
	if err != nil {
		return err
	}
	if err := checkOutputs(o.svg, o.readings); err != nil {
		return err
	}
	topics, err := readFile(ctx, a.in, o.queries, trec.ReadTopics)
	if err != nil {
		return err
	}
	texts := make([]string, len(topics))
	for i, t := range topics {
		texts[i] = t.Title
	}
	lo.Queries = len(texts)
	t, err := a.loadTarget(ctx, o, target, texts, mode)
	if err != nil {
		return err
	}
	defer t.close()
	if it, ok := t.(*indexTarget); ok && o.syntax {
		if err := it.check(topics); err != nil {
			return fmt.Errorf("%s: %w", o.queries, err)
		}
	}
	var probed load.Target = t
	if o.batch > 0 {
		probed = load.Singly(t)
	}
	if err := load.Probe(ctx, probed, lo.Queries, o.timeout); err != nil {
		return o.hint(fmt.Errorf("%s: %w", target, err))
	}
	r := &loadResult{
		Target: target, Queries: len(texts), Mode: mode, K: o.k, Batch: o.batch, Arrivals: string(lo.Arrivals), Seed: o.seed,
		BoundMicros: lo.Bound.Microseconds(), Machine: machine(),
	}
	bar := a.newProgress()
	err = a.measureLoad(ctx, o, lo, t, r, bar)
	bar.close()
	r.interrupted = ctx.Err() != nil
	if err != nil && !r.interrupted {
		err = fmt.Errorf("%s: %w", target, err)
	}
	if len(r.Points) == 0 {
		return err
	}
	t.tell(r)
	if err == nil && r.Verdict != nil && !r.Verdict.Passed {
		err = fmt.Errorf("the soak failed: %s", strings.Join(r.Verdict.Reasons, "; "))
	}
	if o.svg != "" {
		err = errors.Join(err, drawLoad(a.console, o.svg, r))
	}
	if a.json {
		if err != nil {
			e := newJSONError("griffin load", err)
			r.Error, err = &e, toldError{err}
		}
		return errors.Join(a.printJSON(r), err)
	}
	printLoad(a.console, r)
	return err
}

// After an error r has the earlier results.
func (a *app) measureLoad(ctx context.Context, o *loadOptions, lo load.Options, t loadTarget, r *loadResult, bar *progress) error {
	whole := lo.Warmup + lo.Duration
	began, rate := time.Now(), o.rates[0]
	watch := func(p load.Point) {
		status := fmt.Sprintf("%s/s: %s answered, p99 %s", rateOf(p.Rate), count(p.Answered), took(p.Latency.P99))
		if n := p.Shed() + p.Faulty(); n > 0 {
			status += fmt.Sprintf(", %s not", count(n))
		}
		bar.show("load", int64(min(time.Since(began), whole)), int64(whole), status)
	}
	parts := t.traced()
	if parts != nil {
		parts.restart(lo.Warmup)
	}
	each := func(load.Point) {
		began = time.Now()
		if parts != nil {
			r.Parts = append(r.Parts, parts.take())
			parts.restart(lo.Warmup)
		}
	}
	var err error
	switch {
	case o.soak:
		lo.Rate = rate
		var p load.Point
		var v load.Verdict
		var readings *readingsFile
		if readings, err = createReadings(o.readings); err != nil {
			return err
		}
		p, r.Samples, v, err = load.Soak(ctx, t, lo, t.read, func(s load.Sample) {
			readings.add(&s)
			bar.show("soak", int64(s.At), int64(lo.Duration), fmt.Sprintf("%s answered, %s not, host %s, device %s",
				count(s.Answered), count(s.Shed+s.Faulty), sizeOf(s.HostBytes), sizeOf(s.DeviceBytes)))
		})
		if p.Sent > 0 {
			each(p)
			r.Points, r.Verdict = []load.Point{p}, &v
		}
		err = errors.Join(err, readings.close())
	case o.p99 > 0:
		lo.Watch = watch
		var highest *load.Point
		highest, r.Points, err = load.Search(ctx, t, lo, load.SearchOptions{Start: rate, Max: o.maxRate}, each)
		if r.Highest = new(float64); highest != nil {
			*r.Highest = highest.ArrivalRate
		}
	default:
		lo.Watch = watch
		r.Points, err = load.Sweep(ctx, t, lo, o.rates, each)
		if err == nil {
			err = faults(r.Points)
		}
	}
	return err
}

func faults(points []load.Point) error {
	var sent, faulty int64
	var first string
	for i := range points {
		p := &points[i]
		sent += p.Sent
		faulty += p.Faulty()
		if first == "" && len(p.Faults) > 0 {
			first = p.Faults[0]
		}
	}
	if faulty == 0 {
		return nil
	}
	return fmt.Errorf("%s of %s came to nothing: %s", count(faulty), plural(sent, "query"), cmp.Or(oneLine(first), "no answer"))
}

// nil stores no readings.
type readingsFile struct {
	file *os.File
	err  error // the first one
}

func createReadings(path string) (*readingsFile, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Create(path)
	return &readingsFile{file: f}, err
}

// add writes a line without buffering.
func (r *readingsFile) add(s *load.Sample) {
	if r == nil || r.err != nil {
		return
	}
	line, err := json.Marshal(s)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	r.err = err
}

func (r *readingsFile) close() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.err, r.file.Close())
}
