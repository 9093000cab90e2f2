package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/query"
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

// benchResult is the JSON of "griffin bench".
type benchResult struct {
	Index     string       `json:"index"`
	Queries   int          `json:"queries"`
	NoResult  int          `json:"no_result"`
	Mode      griffin.Mode `json:"mode"`
	Traversal string       `json:"traversal"` // the most frequent first
	K         int          `json:"k"`
	Threads   int          `json:"threads"`
	Runs      int          `json:"runs"`
	Prepared  bool         `json:"prepared"`
	CPUTime   bool         `json:"cpu_time,omitempty"`
	// Latency is over the fastest run of each query, AllRuns over all runs.
	Latency benchLatency    `json:"latency_us,omitzero"`
	AllRuns latency.Summary `json:"all_runs,omitzero"`
	QPS     float64         `json:"qps"` // over all runs
	// Batch is set with --batch, instead of the latencies. GPU is set if there is one.
	Batch *batchResult `json:"batch,omitempty"`
	GPU   *gpuResult   `json:"gpu,omitempty"`
	// Dispatch has the steps by processor, including the warm-up, if there is a GPU.
	Dispatch *dispatch.Stats `json:"dispatch,omitempty"`
	// Work of one pass over the queries.
	Work plan.Work `json:"work"`
	// In mode saat, bytes per second of the queries: of lists, and of lists and accumulators
	// (which may be in a cache); and the memory bandwidth of the same number of threads,
	// measured in this run.
	ListTraffic float64 `json:"list_bytes_per_second,omitempty"`
	Traffic     float64 `json:"traffic_bytes_per_second,omitempty"`
	Bandwidth   float64 `json:"bandwidth_bytes_per_second,omitempty"`
	// Over all queries and runs of the measured part.
	AllocsPerQuery float64       `json:"allocs_per_query"`
	GCCycles       uint32        `json:"gc_cycles"`
	GCPause        time.Duration `json:"gc_pause_ns"`
	SIMD           string        `json:"simd"` // level of vector instructions
	Machine        string        `json:"machine"`
	Go             string        `json:"go"`
}

type benchLatency struct {
	latency.Summary
	AllRuns latency.Summary
}

// MarshalJSON adds all_runs to the fields of the summary.
func (l benchLatency) MarshalJSON() ([]byte, error) {
	figures := map[string]any{}
	least, err := json.Marshal(l.Summary)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(least, &figures); err != nil {
		return nil, err
	}
	figures["all_runs"] = l.AllRuns
	return json.Marshal(figures)
}

// benchmark measures a query log on an index.
type benchmark struct {
	options  benchOptions
	exec     dispatch.Options
	index    *griffin.Index     // of batches that are planned in the measured time; else nil
	searcher *dispatch.Searcher // of the others
	fields   []string           // that queries can name
	weighted bool               // the index stores learned weights
	nodes    []query.Node
	ids      []string
	plans    []*dispatch.Query // if options.prepared
	recorder *latency.Recorder
	began    time.Time

	hasGPU        bool
	gpuStats      func() dispatch.GPUStats
	dispatchStats func() dispatch.Stats
	before        dispatch.GPUStats // at the start of the measured part

	mu     sync.Mutex // guards the fields below
	result benchResult
	ran    map[string]int // queries by traversal
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
		exec: dispatch.Options{
			Mode: mode, K: o.k, Traversal: o.traversal,
			Accumulators: o.accumulators, Budget: saat.Budget{Postings: o.rho.postings, Time: o.rho.time},
		},
		result: benchResult{
			Index: filepath.Base(dir), Queries: len(topics), Mode: mode, K: o.k, Threads: o.threads, Runs: o.runs, Prepared: o.prepared, CPUTime: o.cpuTime,
			SIMD: simd.Current().String(), Machine: machine(), Go: runtime.Version(),
		},
	}
	if o.batch > 1 && !o.prepared {
		return a.benchBatches(ctx, b, dir, topics)
	}
	return a.benchPlans(ctx, b, dir, topics)
}

// benchPlans measures queries one at a time, or batches that are planned beforehand, below the
// package griffin.
func (a *app) benchPlans(ctx context.Context, b *benchmark, dir string, topics []trec.Topic) error {
	o := &b.options
	snapshot, err := openSnapshotWithCache(dir, int64(o.cache.limit))
	if err != nil {
		return err
	}
	defer snapshot.Release()
	gpu, err := dispatch.OpenGPU(o.deviceFlags.options(), dispatch.ListBytes(snapshot))
	if err != nil {
		return err
	}
	defer gpu.Close()
	b.searcher, b.weighted = dispatch.NewSearcher(snapshot, nil), snapshot.Options.Weighted()
	b.fields, b.hasGPU = b.searcher.Fields(), gpu != nil
	dispatcher, err := a.newDispatcher(ctx, &o.deviceFlags, dir, snapshot, gpu)
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

// printBenchmark writes and prints the result.
func (a *app) printBenchmark(b *benchmark) error {
	o := &b.options
	if b.result.Mode == griffin.ModeSaat {
		b.measureBandwidth()
	}
	if o.latencies != "" {
		if err := a.writeFile(o.latencies, func(w io.Writer) error { return b.recorder.WriteTSV(w, b.ids) }); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(&b.result)
	}
	printBench(a.console, &b.result)
	return nil
}

func (b *benchmark) parse(topics []trec.Topic) error {
	for _, t := range topics {
		var node query.Node = &query.Words{Text: t.Title, Boost: 1}
		if b.weighted && query.IsWeights(t.Title) {
			var err error
			if node, err = query.ParseWeights(t.Title); err != nil {
				return fmt.Errorf("%s: query %s: %w", b.options.queries, t.ID, err)
			}
		} else if b.options.syntax {
			var err error
			if node, err = query.Parse(t.Title, b.fields); err != nil {
				return fmt.Errorf("%s: query %s: %w", b.options.queries, t.ID, err)
			}
		}
		b.ids = append(b.ids, t.ID)
		b.nodes = append(b.nodes, node)
	}
	return nil
}

// measure makes an untimed pass, which warms up and counts the work, and then times the
// runs.
func (b *benchmark) measure(ctx context.Context, analyzer string) error {
	workers := make([]*benchWorker, b.options.threads)
	for i := range workers {
		scratch, err := dispatch.NewScratch(analyzer)
		if err != nil {
			return err
		}
		workers[i] = &benchWorker{benchmark: b, scratch: scratch, hits: make([]base.Hit, 0, b.options.k)}
	}
	if b.options.prepared {
		for i := range b.nodes {
			plan, err := b.searcher.Prepare(workers[0].scratch, b.nodes[i], b.exec)
			if err != nil {
				return fmt.Errorf("query %s: %w", b.ids[i], err)
			}
			b.plans = append(b.plans, plan)
		}
	}
	if err := warmUp(ctx, workers); err != nil {
		return err
	}
	var batchWorkers []batchAnswerer
	if b.options.batch > 1 {
		var err error
		if batchWorkers, err = b.newBatchWorkers(ctx); err != nil {
			return err
		}
	}
	return b.measureRuns(ctx, workers, batchWorkers)
}

// measureRuns times the runs.
func (b *benchmark) measureRuns(ctx context.Context, workers []*benchWorker, batchWorkers []batchAnswerer) error {
	runtime.GC()
	stop := collectEvery(b.options.collect)
	defer stop()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	elapsed, err := b.run(ctx, workers, batchWorkers)
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	total := float64(len(b.nodes) * b.options.runs)
	b.endGPU(len(b.nodes) * b.options.runs)
	r := &b.result
	r.Traversal = strings.Join(slices.SortedFunc(maps.Keys(b.ran), func(x, y string) int {
		return cmp.Or(cmp.Compare(b.ran[y], b.ran[x]), cmp.Compare(x, y))
	}), ", ")
	if r.Batch == nil {
		r.AllRuns = b.recorder.AllRuns()
		r.Latency = benchLatency{Summary: b.recorder.MinPerQuery(), AllRuns: r.AllRuns}
	}
	r.QPS = total / elapsed.Seconds()
	r.AllocsPerQuery = float64(after.Mallocs-before.Mallocs) / total
	r.GCCycles = after.NumGC - before.NumGC
	r.GCPause = time.Duration(after.PauseTotalNs - before.PauseTotalNs)
	return nil
}

// run answers all queries options.runs times and returns the elapsed time.
func (b *benchmark) run(ctx context.Context, workers []*benchWorker, batchWorkers []batchAnswerer) (time.Duration, error) {
	if batchWorkers != nil {
		return b.measureBatches(ctx, batchWorkers)
	}
	b.beginGPU()
	start := time.Now()
	for run := range b.options.runs {
		if err := b.pass(ctx, workers, run); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// collectEvery runs the garbage collector at intervals until stop is called. It simulates
// garbage of other parts of a process.
func collectEvery(interval time.Duration) (stop func()) {
	if interval <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	ticker := time.NewTicker(interval)
	go func() {
		for {
			select {
			case <-ticker.C:
				runtime.GC()
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
	}
}

// measureBandwidth compares the memory traffic of the queries with the bandwidth of the
// machine.
func (b *benchmark) measureBandwidth() {
	const sizeBytes = 256 << 20 // per thread, larger than any cache
	r := &b.result
	passes := r.QPS / float64(max(r.Queries, 1)) // per second
	r.ListTraffic, r.Traffic = passes*float64(r.Work.BytesRead), passes*float64(r.Work.BytesMoved)
	r.Bandwidth = saat.Bandwidth(r.Threads, sizeBytes)
}

// pass answers all queries once.
func (b *benchmark) pass(ctx context.Context, workers []*benchWorker, run int) error {
	if len(workers) == 1 {
		for i := range b.nodes {
			if err := workers[0].timed(ctx, i, run); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var wg invariant.Group
	errs := make([]error, len(workers))
	for w := range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(b.nodes); i = int(next.Add(1)) - 1 {
				if errs[w] = workers[w].timed(ctx, i, run); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

type benchWorker struct {
	*benchmark
	scratch *dispatch.Scratch
	plan    dispatch.Query
	hits    []base.Hit
}

func (w *benchWorker) answer(ctx context.Context, i int) (plan.Answer, error) {
	if w.plans != nil {
		return w.plans[i].Run(ctx, w.scratch, w.hits)
	}
	if err := w.searcher.PrepareInto(&w.plan, w.scratch, w.nodes[i], w.exec); err != nil {
		return plan.Answer{}, err
	}
	return w.plan.Run(ctx, w.scratch, w.hits)
}

func (w *benchWorker) timed(ctx context.Context, i, run int) error {
	if w.options.cpuTime {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	start := w.now()
	_, err := w.answer(ctx, i)
	w.recorder.Record(i, run, w.now()-start)
	if err != nil {
		return fmt.Errorf("query %s: %w", w.ids[i], err)
	}
	return nil
}

// now returns elapsed time or processor time of the thread; only differences have a meaning.
func (b *benchmark) now() time.Duration {
	if b.options.cpuTime {
		d, _ := latency.ThreadTime()
		return d
	}
	return time.Since(b.began)
}

// warmUp answers every query with each worker, so that its scratch memory grows: first with
// the first worker, which counts the work, then with the others concurrently.
func warmUp(ctx context.Context, workers []*benchWorker) error {
	if err := workers[0].warmUp(ctx, true /* count */); err != nil {
		return err
	}
	var wg invariant.Group
	errs := make([]error, len(workers))
	for i, w := range workers[1:] {
		wg.Go(func() { errs[i] = w.warmUp(ctx, false /* count */) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// warmUp answers every query once. If count is set, it keeps the counts of work for the
// result.
func (w *benchWorker) warmUp(ctx context.Context, count bool) error {
	for i := range w.nodes {
		answer, err := w.answer(ctx, i)
		if err != nil {
			return fmt.Errorf("query %s: %w", w.ids[i], err)
		}
		if !count {
			continue
		}
		w.mu.Lock()
		w.result.Work.Add(answer.Work)
		if len(answer.Hits) == 0 {
			w.result.NoResult++
		}
		w.ran[answer.Traversal]++
		w.mu.Unlock()
	}
	return nil
}

func printBench(con *console, r *benchResult) {
	con.printf("%s, mode %s, traversal %s, k=%d, %s, %s",
		plural(r.Queries, "query"), r.Mode, r.Traversal, r.K, plural(r.Threads, "thread"), plural(r.Runs, "run"))
	if r.Prepared {
		con.printf(", planning left out")
	}
	if r.CPUTime {
		con.printf(", processor time")
	}
	con.printf("\n%s\n\n", r.Machine)
	if r.Batch == nil {
		printLatencies(con, r)
	}
	perQuery := func(n int64) float64 { return float64(n) / float64(max(r.Queries, 1)) }
	con.printf("%.0f queries/s; %s without a result\n", r.QPS, plural(r.NoResult, "query"))
	printBatch(con, r)
	con.printf("a query: ")
	if r.Work != (plan.Work{}) { // a GPU does not count it
		con.printf("%.0f postings decoded, %.0f scored; %.1f blocks decoded, %.1f skipped; ",
			perQuery(r.Work.PostingsDecoded), perQuery(r.Work.PostingsScored), perQuery(r.Work.BlocksDecoded), perQuery(r.Work.BlocksSkipped))
	}
	con.printf("%.1f allocations\n", r.AllocsPerQuery)
	if r.Bandwidth > 0 {
		con.printf("%s can read %.1f GB/s from memory; lists are %.1f %% of it, with accumulators, cached or not, %.0f %%\n",
			plural(r.Threads, "thread"), r.Bandwidth/1e9, 100*r.ListTraffic/r.Bandwidth, 100*r.Traffic/r.Bandwidth)
	}
	con.printf("garbage collector: %d cycles, %s of pauses in all\n", r.GCCycles, took(r.GCPause))
}

func printLatencies(con *console, r *benchResult) {
	st := con.style(con.out)
	con.printf("%s%-26s %9s %9s %9s %9s %9s %9s%s\n", st.bold, "latency in µs", "mean", "p50", "p95", "p99", "p99.9", "max", st.reset)
	for _, row := range []struct {
		name string
		s    latency.Summary
	}{{"least of a query's runs", r.Latency.Summary}, {"all runs", r.AllRuns}} {
		con.printf("%-26s", row.name)
		for _, d := range []time.Duration{row.s.Mean, row.s.P50, row.s.P95, row.s.P99, row.s.P999, row.s.Max} {
			con.printf(" %9.1f", float64(d.Nanoseconds())/1000)
		}
		con.printf("\n")
	}
	con.printf("\n")
}
