package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/load"
	"github.com/griffin-search/griffin/trec"
)

type loadOptions struct {
	queries   string
	modeName  string
	k         int
	syntax    bool
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
		Short: "Put load on a server or an index and measure how it bears it",
		Long: `Load asks the queries of a file, in turn, of a server (griffin serve) or of an index
in this process, at times that are fixed beforehand: the loop is open, queries come
whether earlier ones are answered or not. Latency counts from the time at which a query
was to come, so the wait behind a server that stands still is in it.

With --rate it measures at one rate or at several. With --p99 it looks for the highest
rate at which 99 of 100 queries are answered within that time, beginning with --rate.
With --soak it puts one rate on for long, reads the memory and the goroutines of the
server at intervals, and fails if they grow or any query fails.

A table has a line a rate: latencies in ms; goodput, the answers a second that came
in time; queries turned away (429: more than the client's share, 503: overloaded,
504: past the deadline); faults, all other ends without an answer. Where there are any at
a --rate, the exit code is 1. Ctrl-C ends a measurement and shows what there is.`,
		Example: `  griffin load http://127.0.0.1:7280 --queries tb06.tsv --rate 100,200,400 --for 30s
  griffin load http://127.0.0.1:7280 --queries tb06.tsv --p99 10ms --rate 1000 --svg load.svg
  griffin load wiki.idx --queries tb06.tsv --device gpu --resident --p99 10ms
  griffin load http://127.0.0.1:7280 --queries tb06.tsv --soak --for 30m --rate 800`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, of := range [][2]string{{"every", "soak"}, {"max-rate", "p99"}} {
				if cmd.Flags().Changed(of[0]) && !cmd.Flags().Changed(of[1]) {
					return usagef("--%s is of --%s, which is not given", of[0], of[1])
				}
			}
			if given := o.inProcess.given(cmd.Flags()); isAddress(args[0]) && len(given) > 0 {
				return usagef("%s: of an index in this process, and %s is a server: give them to griffin serve", strings.Join(given, ", "), args[0])
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

func (o *loadOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.queries, "queries", "", "queries: TSV, JSON lines or TREC topics (required)")
	f.StringVar(&o.modeName, "mode", "or", "what plain words ask for: or, and, and+or, saat")
	f.IntVarP(&o.k, "k", "k", griffin.DefaultK, "hits for each query")
	f.BoolVar(&o.syntax, "syntax", false, "queries have \"phrases\", +, -, and so on")
	f.Float64SliceVar(&o.rates, "rate", []float64{100}, "queries a second; several: measured one after another")
	f.DurationVar(&o.p99, "p99", 0, "look for the highest rate at which 99 % of queries are answered within this `TIME`")
	f.Float64Var(&o.maxRate, "max-rate", 1e6, "with --p99, ask for no more")
	f.DurationVar(&o.within, "within", 0, "count only answers within this `TIME` as good (default: all)")
	f.DurationVar(&o.duration, "for", 10*time.Second, "how long each rate is measured")
	f.DurationVar(&o.warmup, "warmup", 2*time.Second, "how long queries come before that at each rate")
	f.DurationVar(&o.timeout, "wait", 10*time.Second, "how long to wait for an answer")
	f.StringVar(&o.arrivals, "arrivals", string(load.Poisson), "distances between queries: poisson (random) or constant")
	f.Uint64Var(&o.seed, "seed", 1, "seed of random arrivals")
	f.BoolVar(&o.soak, "soak", false, "watch memory and goroutines, and fail if they grow")
	f.DurationVar(&o.every, "every", 0, "with --soak, how often to look at them (default: a hundred times, but not more than once a second)")
	f.StringVar(&o.readings, "readings", "", "with --soak, `FILE` to which each look adds a line of JSON at once, so that what ends early leaves them")
	f.StringVar(&o.svg, "svg", "", "`FILE` to draw the result in")
	o.inProcess.register(f)
}

// check returns what the flags say of the load, without its queries and rate.
func (o *loadOptions) check() (load.Options, griffin.Mode, error) {
	lo := load.Options{
		Seed: o.seed, Warmup: o.warmup, Duration: o.duration, Bound: o.within, Timeout: o.timeout, Every: o.every,
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
		return lo, 0, usagef("--soak and --p99 begin with one --rate, which is not above --max-rate")
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
	mode, err := griffin.ParseMode(o.modeName)
	return lo, mode, errors.Join(err, o.inProcess.check())
}

// loadResult is what "griffin load --json" prints.
type loadResult struct {
	Target   string       `json:"target"`
	Queries  int          `json:"queries"`
	Mode     griffin.Mode `json:"mode"`
	K        int          `json:"k"`
	Arrivals string       `json:"arrivals"`
	Seed     uint64       `json:"seed"`
	// BoundMicros is within what an answer is good; 0: any time.
	BoundMicros int64        `json:"bound_us,omitempty"`
	Points      []load.Point `json:"points"`
	// Highest rate that was found, with --p99, of the arrivals as they were drawn; 0: none held.
	Highest *float64 `json:"highest_rate,omitempty"`
	// Of --soak.
	Samples []load.Sample `json:"samples,omitempty"`
	Verdict *load.Verdict `json:"verdict,omitempty"`
	// Of an index in this process: what it did in all, warm-up included.
	Dispatch    *griffin.DispatchStats    `json:"dispatch,omitempty"`
	GPU         *griffin.GPUStats         `json:"gpu,omitempty"`
	ResultCache *griffin.ResultCacheStats `json:"result_cache,omitempty"`
	Machine     string                    `json:"machine"` // that the load came from
	// Error says why there is not more, how many queries came to nothing, or that the soak failed.
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
	if err := load.Probe(ctx, t, lo.Queries, o.timeout); err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	r := &loadResult{
		Target: target, Queries: len(texts), Mode: mode, K: o.k, Arrivals: string(lo.Arrivals), Seed: o.seed,
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
		err = errors.Join(err, a.drawLoad(o.svg, r))
	}
	if a.json {
		if err != nil {
			e := newJSONError("griffin load", err)
			r.Error, err = &e, toldError{err}
		}
		return errors.Join(a.printJSON(r), err)
	}
	a.printLoad(r)
	return err
}

// measureLoad does what the flags ask for, and fills r as far as it gets.
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
	each := func(load.Point) { began = time.Now() }
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

// faults returns an error if queries came to nothing that were not turned away.
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

// readingsFile gets the readings of a soak as they come; nil keeps none.
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

// add writes a reading as a line, to the file system at once.
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
