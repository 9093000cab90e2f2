// Filters compares the speed of queries with and without filters, on a GPU and on the CPUs, and writes
// JSON.
//
//	griffin lab generate --typed --like gov2 --from wiki.idx --queries tb06.tsv --out gov2.idx
//	go run ./bench/gpu/filters -index gov2.idx -json filters.json
//
// # Measurements
//
// The queries of the collection (INDEX.queries.tsv), OR, top-10, without loading documents, in batches of
// -batch on -threads goroutines, as griffin bench does: without a filter, and with filters that leave 90,
// 50, 10, 1 and 0.1 % of the documents, at random (a range of the field number) and in a row (a range of
// days, the order of the documents). Queries per second are of wall time; the device's are of its kernels' time. Each
// setting first runs once, which computes the filters and sends them to the GPU; the time of the first
// batch is reported. The CPUs run the first -cpu queries in the same process and must have the same hits.
//
// With -words only queries of other kinds are measured in the same way (words.go): exclusions, required words,
// alternatives, counts, and up to 10,000 hits, each beside the queries of the words alone; any index serves.
//
// With -phrases, which needs an index with positions (griffin index without --no-positions), only phrases are measured.
//
// A terms facet counts the 1,000 values of the field kind over all matches of a query, and sorts find the best 10 by a
// date, a number and a keyword, one query at a time (facets.go). With -facets-only nothing else is measured.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parseOptions(os.Args[1:])
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "filters:", err)
		os.Exit(1)
	}
}

type options struct {
	index, queries, json string
	device               string
	memory               int64
	batch, threads, cpu  int
	facets               int
	words, phrases       bool
	facetsOnly           bool
	seconds              float64
	minDocFreq           uint
}

func parseOptions(args []string) (*options, error) {
	o := new(options)
	f := flag.NewFlagSet("filters", flag.ContinueOnError)
	f.StringVar(&o.index, "index", "", "index with the fields number, day and kind (required)")
	f.StringVar(&o.queries, "queries", "", "queries, one a line: id, tab, words (default INDEX.queries.tsv)")
	f.StringVar(&o.json, "json", "", "write the result to this file")
	f.StringVar(&o.device, "device", "gpu", "GPU, as griffin search --device")
	f.Int64Var(&o.memory, "gpu-memory", 0, "bytes of GPU memory for lists; 0: 90 % of the free memory")
	f.IntVar(&o.batch, "batch", 1000, "queries of a batch")
	f.IntVar(&o.threads, "threads", 8, "batches at the same time")
	f.IntVar(&o.cpu, "cpu", 300, "queries to run on the CPUs and to compare")
	f.IntVar(&o.facets, "facets", 100, "queries to facet")
	f.BoolVar(&o.words, "words", false, "measure exclusions, required words, counts and many hits, instead of filters and facets")
	f.BoolVar(&o.phrases, "phrases", false, "measure phrases, which need an index with positions, instead of filters and facets")
	f.BoolVar(&o.facetsOnly, "facets-only", false, "measure facets and sorts, but not filters in batches")
	f.Float64Var(&o.seconds, "seconds", 2, "time for each figure")
	f.UintVar(&o.minDocFreq, "resident", 1000, "least documents of lists that are loaded before")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.index == "" || f.NArg() > 0 || o.batch < 1 || o.threads < 1 || o.cpu < 1 || o.cpu > o.batch {
		return nil, errors.New("want -index INDEX, positive numbers, and at most -batch queries for the CPUs")
	}
	if o.queries == "" {
		o.queries = o.index + ".queries.tsv"
	}
	return o, nil
}

type report struct {
	Program    string    `json:"program"`
	Date       string    `json:"date"`
	GPU        string    `json:"gpu"`
	Processors int       `json:"processors"`
	Docs       int       `json:"docs"`
	Queries    int       `json:"queries"`
	Batch      int       `json:"batch"`
	Threads    int       `json:"threads"`
	WarmMS     float64   `json:"warm_ms"`
	Figures    []*figure `json:"figures"`
	Facets     []*facet  `json:"facets"`
}

// figure is the speed of the queries with a filter.
type figure struct {
	Filter string  `json:"filter"` // "none", "random" or "row"; with -words a kind of queries
	Share  float64 `json:"share"`  // of the documents
	// FirstMS is the time of the first batch, which computes the filter.
	FirstMS   float64 `json:"first_batch_ms"`
	GPU       float64 `json:"gpu_qps"`
	Device    float64 `json:"device_qps"`
	CPU       float64 `json:"cpu_qps"`
	OnCPU     int64   `json:"gpu_on_cpu"`    // queries of the GPU's batches that a CPU answered
	Ratio     float64 `json:"gpu_ratio"`     // GPU / GPU without a filter
	DevRatio  float64 `json:"device_ratio"`  // the same of Device
	CPURatio  float64 `json:"cpu_ratio"`     // the same of CPU
	GPUvsCPU  float64 `json:"gpu_times_cpu"` // GPU / CPU
	MeanHits  float64 `json:"mean_hits"`     // of the compared queries
	FilterMiB float64 `json:"filter_memory"` // resident bitmaps
}

type bench struct {
	*options
	gpu, cpu *griffin.Index
	words    []query.Node
	texts    [][]string // their words
	report   report
}

func run(ctx context.Context, o *options) (err error) {
	b := &bench{options: o}
	if err := b.readQueries(); err != nil {
		return err
	}
	rt, err := griffin.NewRuntime(griffin.RuntimeOptions{GPU: griffin.GPUOptions{Device: o.device, Memory: griffin.MemorySize{Bytes: o.memory}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	if b.gpu, err = griffin.Open(o.index, griffin.Options{Runtime: rt}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.gpu.Close()) }()
	if b.cpu, err = griffin.Open(o.index, griffin.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cpu.Close()) }()
	stats, err := b.gpu.Stats()
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := b.gpu.Warm(ctx, griffin.WarmOptions{MinDocFreq: uint32(o.minDocFreq)}); err != nil {
		return err
	}
	b.report = report{
		Program: "bench/gpu/filters", Date: began.UTC().Format(time.RFC3339), Processors: runtime.NumCPU(), Docs: stats.NumDocs, Queries: len(b.words),
		Batch: o.batch, Threads: o.threads, WarmMS: ms(time.Since(began)),
	}
	if s, ok := rt.GPUStats(); ok {
		b.report.GPU = s.Devices[0].GPU
	}
	fmt.Printf("%s, %d processors, %d documents, %d queries, loaded in %.0f ms\n", b.report.GPU, b.report.Processors, b.report.Docs, len(b.words), b.report.WarmMS)
	if o.words || o.phrases {
		if err := b.measureWords(ctx, rt); err != nil {
			return err
		}
		return b.write()
	}
	if !o.facetsOnly {
		if err := b.measureFilters(ctx, rt); err != nil {
			return err
		}
	}
	if err := b.measureFacets(ctx, rt); err != nil {
		return err
	}
	return b.write()
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func (b *bench) readQueries() error {
	f, err := os.Open(b.queries)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if _, text, ok := strings.Cut(s.Text(), "\t"); ok {
			b.texts = append(b.texts, strings.Fields(text))
			b.words = append(b.words, &query.Words{Text: text})
		}
	}
	if len(b.words) == 0 && s.Err() == nil {
		return fmt.Errorf("%s has no queries", b.queries)
	}
	return s.Err()
}

// shares are of 1,000.
var shares = []int{900, 500, 100, 10, 1}

func (b *bench) measureFilters(ctx context.Context, rt *griffin.Runtime) error {
	if err := b.measure(ctx, rt, "none", 1, nil); err != nil {
		return err
	}
	for _, n := range shares {
		random := &query.Range{Field: "number", From: "0", To: fmt.Sprint(n - 1)}
		if err := b.measure(ctx, rt, "random", float64(n)/1000, random); err != nil {
			return err
		}
	}
	for _, n := range shares {
		// The documents in their order are of 20 years from 2004 on.
		last := time.Date(2004, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(float64(20*365.25*24) * float64(n) / 1000 * float64(time.Hour)))
		row := &query.Range{Field: "day", To: last.Format(time.DateOnly), ExcludeTo: true}
		if err := b.measure(ctx, rt, "row", float64(n)/1000, row); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) measure(ctx context.Context, rt *griffin.Runtime, name string, share float64, filter query.Node) error {
	return b.measureQueries(ctx, rt, &figure{Filter: name, Share: share}, func(i int) griffin.Query {
		return griffin.Query{Node: b.words[i], Filter: filter, K: 10}
	})
}

// measureQueries measures a batch of queries, which ask returns by number of the words.
func (b *bench) measureQueries(ctx context.Context, rt *griffin.Runtime, f *figure, ask func(int) griffin.Query) error {
	queries := make([]griffin.Query, b.batch)
	for i := range queries {
		queries[i] = ask(i % len(b.words))
		queries[i].Load = griffin.LoadNone
	}
	began := time.Now()
	got, err := search(ctx, b.gpu, queries)
	if err != nil {
		return err
	}
	f.FirstMS = ms(time.Since(began))
	before, _ := rt.GPUStats()
	var busy time.Duration
	f.GPU, err = b.perSecond(ctx, b.gpu, queries)
	if err != nil {
		return err
	}
	after, _ := rt.GPUStats()
	numQueries := int64(0)
	for i := range after.Devices {
		busy = max(busy, after.Devices[i].Busy-before.Devices[i].Busy)
		numQueries += after.Devices[i].Queries - before.Devices[i].Queries
	}
	if f.OnCPU = after.OnCPU - before.OnCPU; busy > 0 { // else the CPUs answered them all
		f.Device = float64(numQueries) / busy.Seconds()
	}
	f.FilterMiB = float64(after.Devices[0].Filters) * float64(b.report.Docs) / 8 / (1 << 20)
	some := queries[:min(b.options.cpu, b.batch)]
	want, err := search(ctx, b.cpu, some)
	if err != nil {
		return err
	}
	for i := range want {
		f.MeanHits += float64(len(want[i].Hits)) / float64(len(want))
		if got[i].Matches != want[i].Matches ||
			!slices.EqualFunc(got[i].Hits, want[i].Hits, func(x, y griffin.Hit) bool { return x.DocID == y.DocID && x.Score == y.Score }) {
			return fmt.Errorf("%s %g: query %d, %s: the GPU has %d matches, %v, the CPU %d, %v", f.Filter, f.Share, i, queries[i].Node, got[i].Matches, got[i].Hits, want[i].Matches, want[i].Hits)
		}
	}
	if f.CPU, err = b.perSecondOnCPU(ctx, some); err != nil {
		return err
	}
	if len(b.report.Figures) > 0 {
		plain := b.report.Figures[0]
		f.Ratio, f.DevRatio, f.CPURatio = f.GPU/plain.GPU, f.Device/max(plain.Device, 1), f.CPU/plain.CPU
	}
	f.GPUvsCPU = f.GPU / f.CPU
	b.report.Figures = append(b.report.Figures, f)
	fmt.Printf("%-6s %5.1f %%: GPU %7.0f/s (%.2f of the first), its kernels %7.0f/s (%.2f), CPUs %6.0f/s (%.2f), first batch %.1f ms, %d by CPUs\n",
		f.Filter, 100*f.Share, f.GPU, f.Ratio, f.Device, f.DevRatio, f.CPU, f.CPURatio, f.FirstMS, f.OnCPU)
	return b.write()
}

func search(ctx context.Context, ix *griffin.Index, queries []griffin.Query) ([]griffin.BatchResult, error) {
	results, err := ix.SearchBatch(ctx, queries)
	if err != nil {
		return nil, err
	}
	for i := range results {
		if results[i].Err != nil {
			return nil, fmt.Errorf("query %d: %w", i, results[i].Err)
		}
	}
	return results, nil
}

// perSecond answers batches on all threads for the time of a figure.
func (b *bench) perSecond(ctx context.Context, ix *griffin.Index, queries []griffin.Query) (float64, error) {
	var answered atomic.Int64
	errs := make([]error, b.threads)
	began := time.Now()
	limit := time.Duration(b.seconds * float64(time.Second))
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			for first := true; errs[i] == nil && (first || time.Since(began) < limit); first = false {
				_, errs[i] = search(ctx, ix, queries)
				answered.Add(int64(len(queries)))
			}
		})
	}
	group.Wait()
	return float64(answered.Load()) / time.Since(began).Seconds(), errors.Join(errs...)
}

// perSecondOnCPU is of one batch at a time, which all CPUs answer.
func (b *bench) perSecondOnCPU(ctx context.Context, queries []griffin.Query) (float64, error) {
	answered := 0
	began := time.Now()
	for answered == 0 || time.Since(began).Seconds() < b.seconds {
		if _, err := search(ctx, b.cpu, queries); err != nil {
			return 0, err
		}
		answered += len(queries)
	}
	return float64(answered) / time.Since(began).Seconds(), nil
}

// write saves the present figures.
func (b *bench) write() error {
	if b.json == "" {
		return nil
	}
	data, err := json.MarshalIndent(&b.report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(b.json, append(data, '\n'), 0o600)
}
