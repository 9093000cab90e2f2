package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/trec"
)

type benchOptions struct {
	rankingFlags
	deviceFlags
	cache     cacheFlag
	resident  residentFlag
	batch     int
	queries   string
	latencies string
	threads   int
	runs      int
	syntax    bool
	prepared  bool
	cpuTime   bool
	collect   time.Duration
}

func newBenchCommand(a *app) *cobra.Command {
	var o benchOptions
	c := &cobra.Command{
		Use:   "bench INDEX --queries FILE",
		Short: "Measure the latency and throughput of a query log",
		Long: `Bench runs every query of a file --runs times after a warm-up and prints latencies
in microseconds: over the fastest run of each query (the cost of the work) and over
all runs (the latency that users see). The time of a query includes planning
(dictionary look-ups, weights) and the traversal, but not reading the text of the
hits. --prepared excludes planning.

With --batch N, N queries run together, on a GPU in as few launches as memory allows.
Each latency is then the time of a batch. Without --prepared it measures the library's
Index.SearchBatch.

Queries are TSV (id, tab, text), JSON lines or TREC topics. Their text is plain words
unless --syntax is given. Traversals:` + traversalNames() + `

With a GPU (--device), --policy chooses the processor of each step of a query; the
results are identical. A batch runs on the GPU with every policy except cpu. Policies:` + policyNames(),
		Example: `  griffin bench wiki.idx --queries tb05.tsv --mode or --k 10
  griffin bench wiki.idx --queries tb05.tsv --traversal exhaustive-daat --runs 1
  griffin bench wiki.idx --queries tb05.tsv --threads 2 --latencies lat.tsv --json
  griffin bench wiki.idx --queries tb05.tsv --device gpu --resident --batch 1000
  griffin bench wiki.idx --queries tb05.tsv --device gpu --gpu-memory 10% --policy ratio --mode and`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.bench(cmd.Context(), o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.queries, "queries", "", "queries: TSV, JSON lines or TREC topics (required)")
	o.rankingFlags.register(f, griffin.DefaultK)
	o.workers = 1
	o.deviceFlags.register(f, "cpu")
	o.cache.register(f)
	o.resident.register(f)
	f.IntVar(&o.batch, "batch", 1, "queries in a batch; 1 measures single queries")
	f.IntVar(&o.threads, "threads", 1, "queries, or batches, that run at the same time")
	f.IntVar(&o.runs, "runs", 3, "times that each query is measured")
	f.StringVar(&o.latencies, "latencies", "", "`FILE` for every measured time, TSV")
	f.BoolVar(&o.syntax, "syntax", false, "parse queries as query syntax: \"phrases\", +, -, …")
	f.BoolVar(&o.cpuTime, "cpu-time", false, "measure processor time instead of elapsed time, for busy machines (Linux)")
	f.BoolVar(&o.prepared, "prepared", false, "measure only the traversal: lists are looked up before")
	f.DurationVar(&o.collect, "collect", 0, "run the garbage collector at this interval; queries themselves make no garbage (0: never)")
	_ = c.MarkFlagRequired("queries")
	return c
}

func traversalNames() string {
	var b strings.Builder
	for _, mode := range []griffin.Mode{griffin.ModeOr, griffin.ModeAnd} {
		fmt.Fprintf(&b, "\n  %-4s %s", mode, strings.Join(griffin.Traversals(mode), ", "))
	}
	fmt.Fprintf(&b, "\n  %-4s accumulators %s", griffin.ModeSaat, strings.Join(griffin.Accumulators(), ", "))
	b.WriteString(";\n       those with a heap take options, as in array:heap=1,outlined")
	return b.String()
}

func (a *app) bench(ctx context.Context, o benchOptions, dir string) error {
	if o.threads < 1 || o.runs < 1 {
		return usagef("--threads and --runs must be at least 1")
	}
	if _, ok := latency.ThreadTime(); o.cpuTime && !ok {
		return usagef("--cpu-time: this system does not tell a thread's time")
	}
	if o.batch < 1 || o.batch > 1 && (o.cpuTime || o.latencies != "") {
		return usagef("--batch must be at least 1, and has neither --cpu-time nor --latencies")
	}
	o.adjustMode(&o.modeName)
	mode, err := o.rankingFlags.check(!o.syntax)
	if err == nil {
		err = errors.Join(o.deviceFlags.check(), o.resident.check(&o.deviceFlags))
	}
	if err != nil {
		return err
	}
	if err := checkOutputs(o.latencies); err != nil {
		return err
	}
	topics, err := readFile(ctx, a.in, o.queries, trec.ReadTopics)
	if err != nil {
		return err
	}
	b := &benchmark{
		options: o, recorder: latency.NewRecorder(len(topics), o.runs), began: time.Now(), ran: map[string]int{},
		planning: dispatch.Options{
			Mode: plan.Mode(mode), K: o.k, Traversal: o.traversal,
			Accumulators: o.accumulators, Budget: saat.Budget{Postings: o.rho.postings, Time: o.rho.time},
		},
		result: benchResult{
			benchLog: benchLog{
				Engine: o.engineName(), Index: filepath.Base(dir), Queries: len(topics), Mode: mode, K: o.k, Threads: o.threads, Runs: o.runs, Prepared: o.prepared, CPUTime: o.cpuTime,
			},
			SIMD: simd.Current().String(), Machine: machine(), Go: runtime.Version(),
		},
	}
	if o.batch > 1 && !o.prepared {
		return a.benchBatches(ctx, b, dir, topics)
	}
	return a.benchPlans(ctx, b, dir, topics)
}

// benchPlans measures single queries, or batches planned beforehand, below the package griffin.
func (a *app) benchPlans(ctx context.Context, b *benchmark, dir string, topics []trec.Topic) (err error) {
	o := &b.options
	snapshot, err := openSnapshotWithCache(dir, int64(o.cache.limit))
	if err != nil {
		return err
	}
	defer snapshot.Release()
	e, err := o.openEngine()
	if err != nil {
		return badFlags(err)
	}
	devices := o.deviceFlags.options()
	if e != nil {
		defer func() { err = errors.Join(err, e.Close()) }()
		devices.Device = "" // the engine opens its own
	}
	gpu, err := dispatch.OpenGPU(devices, dispatch.ListBytes(snapshot))
	if err != nil {
		return err
	}
	defer gpu.Close()
	b.searcher, b.weighted = dispatch.NewSearcher(snapshot, nil), snapshot.Options.Weighted()
	b.fields, b.hasGPU = b.searcher.Fields(), gpu != nil
	dispatcher, err := a.newDispatcher(ctx, &o.deviceFlags, dir, snapshot, gpu, e)
	if err != nil {
		return err
	}
	b.searcher.Use(dispatcher)
	b.gpuStats, b.dispatchStats = gpu.Stats, dispatcher.Stats
	if err := b.parse(topics); err != nil {
		return err
	}
	if gpu != nil {
		if err := a.warm(ctx, o.resident, b.result.Mode == griffin.ModeSaat, warmerOf(gpu, snapshot)); err != nil {
			return err
		}
	}
	if err := b.measure(ctx, snapshot.Options.Analyzer); err != nil {
		return err
	}
	return a.printBenchmark(b)
}
