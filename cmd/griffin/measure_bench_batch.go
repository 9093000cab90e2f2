package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/trec"
)

type batchResult struct {
	Size    int `json:"size"`
	Batches int `json:"batches"`
	// Latency is of whole batches, including planning unless --prepared is set.
	Latency latency.Summary `json:"latency_us"`
}

type gpuResult struct {
	dispatch.GPUStats
	// HitRate is the share of requested lists that were in GPU memory.
	HitRate float64 `json:"hit_rate"`
	// DeviceTime is the kernel time of batches, on the device with the most; DeviceQPS is
	// queries over that time. Both are 0 for single queries.
	DeviceTime time.Duration `json:"device_ns,omitempty"`
	DeviceQPS  float64       `json:"device_qps,omitempty"`
}

// batchAnswerer answers the queries [from, to) of the log, repeated endlessly, on one goroutine
// at a time.
type batchAnswerer interface {
	answer(ctx context.Context, from, to int) error
}

type preparedBatches struct {
	*benchmark
	batch   dispatch.BatchScratch
	plans   []*dispatch.Query
	answers []plan.Answer
}

func (w *preparedBatches) answer(ctx context.Context, from, to int) error {
	n := to - from
	for i := range n {
		w.plans[i] = w.benchmark.plans[(from+i)%len(w.nodes)]
	}
	return w.searcher.Dispatcher().SearchPrepared(ctx, w.plans[:n], &w.batch, w.answers[:n])
}

type searchBatches struct {
	*benchmark
	queries []griffin.Query
	results []griffin.BatchResult
}

func (w *searchBatches) answer(ctx context.Context, from, to int) error {
	n := to - from
	for i := range n {
		w.queries[i] = w.query((from + i) % len(w.nodes))
	}
	results, err := w.index.SearchBatchInto(ctx, w.queries[:n], w.results)
	if err != nil {
		return err
	}
	w.results = results
	for i := range results {
		if results[i].Err != nil {
			return fmt.Errorf("query %s: %w", w.ids[(from+i)%len(w.nodes)], results[i].Err)
		}
	}
	return nil
}

// The hits have no documents.
func (b *benchmark) query(i int) griffin.Query {
	q := b.options.rankingFlags.query(b.result.Mode)
	q.Node, q.Load = b.nodes[i], griffin.LoadNone
	return q
}

func (a *app) benchBatches(ctx context.Context, b *benchmark, dir string, topics []trec.Topic) (err error) {
	o := &b.options
	ix, closeIndex, err := o.openIndex(dir, griffin.RuntimeOptions{CacheBytes: o.cache.bytes()}, griffin.Options{})
	if err != nil {
		return badFlags(err)
	}
	defer func() { err = errors.Join(err, closeIndex()) }()
	if err := a.calibrateIndex(ctx, &o.deviceFlags, ix); err != nil {
		return err
	}
	stats, err := ix.Stats()
	if err != nil {
		return err
	}
	b.index, b.weighted = ix, stats.WeightScale > 0
	for i := range stats.Fields {
		b.fields = append(b.fields, stats.Fields[i].Name)
	}
	_, b.hasGPU = ix.Runtime().GPUStats()
	b.gpuStats = func() dispatch.GPUStats {
		s, _ := ix.Runtime().GPUStats()
		return gpuStatsOf(&s)
	}
	b.dispatchStats = func() dispatch.Stats {
		s := ix.Runtime().DispatchStats()
		return dispatchStatsOf(&s)
	}
	if err := b.parse(topics); err != nil {
		return err
	}
	if b.hasGPU {
		if err := a.warm(ctx, o.resident, b.result.Mode == griffin.ModeSaat, warmerOfIndex(ix)); err != nil {
			return err
		}
	}
	if err := b.countWork(ctx); err != nil {
		return err
	}
	workers, err := b.newBatchWorkers(ctx)
	if err != nil {
		return err
	}
	if err := b.measureRuns(ctx, nil, workers); err != nil {
		return err
	}
	return a.printBenchmark(b)
}

// countWork runs every query once by itself.
func (b *benchmark) countWork(ctx context.Context) error {
	for i := range b.nodes {
		q := b.query(i)
		q.Trace = true
		r, err := b.index.Search(ctx, q)
		if err != nil {
			return fmt.Errorf("query %s: %w", b.ids[i], err)
		}
		b.result.Work.Add(plan.Work(r.Trace.Total()))
		if len(r.Hits) == 0 {
			b.result.NoResult++
		}
		b.ran[r.Traversal]++
	}
	return nil
}

// newBatchWorkers warms up a worker for each thread with full batches.
func (b *benchmark) newBatchWorkers(ctx context.Context) ([]batchAnswerer, error) {
	workers := make([]batchAnswerer, b.options.threads)
	errs := make([]error, len(workers))
	n := b.options.batch
	var wg invariant.Group
	for i := range workers {
		if b.index != nil {
			workers[i] = &searchBatches{benchmark: b, queries: make([]griffin.Query, n)}
		} else {
			workers[i] = &preparedBatches{benchmark: b, plans: make([]*dispatch.Query, n), answers: make([]plan.Answer, n)}
		}
		// All at the same time: calls of SearchBatch share their memory.
		wg.Go(func() {
			for range warmBatches {
				if errs[i] == nil {
					errs[i] = workers[i].answer(ctx, 0, n)
				}
			}
		})
	}
	wg.Wait()
	return workers, errors.Join(errs...)
}

// warmBatches let the memory of every GPU lane and of every caller grow.
const warmBatches = 8

// measureBatches takes all runs of the log as one sequence, of which each thread's worker takes
// the next batch.
func (b *benchmark) measureBatches(ctx context.Context, workers []batchAnswerer) (time.Duration, error) {
	total := len(b.nodes) * b.options.runs
	times := make([]time.Duration, (total+b.options.batch-1)/b.options.batch)
	b.beginGPU()
	var next atomic.Int64
	var wg invariant.Group
	errs := make([]error, len(workers))
	start := time.Now()
	for w := range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(times) && errs[w] == nil; i = int(next.Add(1)) - 1 {
				began := time.Now()
				errs[w] = workers[w].answer(ctx, i*b.options.batch, min((i+1)*b.options.batch, total))
				times[i] = time.Since(began)
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	b.result.Batch = &batchResult{Size: b.options.batch, Batches: len(times), Latency: latency.Summarize(times)}
	return elapsed, nil
}

func newGPUResult(s dispatch.GPUStats) *gpuResult {
	r := &gpuResult{GPUStats: s}
	var hits, misses int64
	for i := range s.Devices {
		hits += s.Devices[i].Hits
		misses += s.Devices[i].Misses
	}
	if hits+misses > 0 {
		r.HitRate = float64(hits) / float64(hits+misses)
	}
	return r
}

func (b *benchmark) beginGPU() { b.before = b.gpuStats() }

func (b *benchmark) endGPU(queries int) {
	if b.result.Engine != "" {
		d := b.dispatchStats()
		b.result.Dispatch = &d
	}
	if !b.hasGPU {
		return
	}
	r := newGPUResult(b.gpuStats().Since(&b.before))
	for i := range r.Devices {
		r.DeviceTime = max(r.DeviceTime, r.Devices[i].Busy)
	}
	if r.DeviceTime > 0 {
		r.DeviceQPS = float64(queries) / r.DeviceTime.Seconds()
	}
	b.result.GPU = r
	d := b.dispatchStats()
	b.result.Dispatch = &d
}

func printBatch(con *console, r *benchResult) {
	if b := r.Batch; b != nil {
		what := plural(b.Size, "query")
		if b.Size > r.Queries {
			what = fmt.Sprintf("%s, all of the log (--batch %s is more)", plural(r.Queries, "query"), count(b.Size))
		}
		con.printf("batches of %s: p50 %s, p99 %s, max %s\n", what, took(b.Latency.P50), took(b.Latency.P99), took(b.Latency.Max))
	}
	if r.Dispatch != nil && r.Dispatch.Engine != nil {
		e := r.Dispatch.Engine
		con.printf("queries on the GPU %s, on the CPU %s, with the warm-up; %s, %s over the bus, %s\n", count(e.OnGPU), count(e.OnCPU),
			plural(e.Migrations, "migration"), sizeOf(e.BusBytes), plural(e.Faults, "fault"))
	}
	g := r.GPU
	if g == nil {
		return
	}
	d := r.Dispatch
	con.printf("policy %s: steps on the CPU %s, on GPUs %s, with the warm-up; %s\n", d.Policy, count(d.CPUSteps), count(d.GPUSteps), plural(d.Migrations, "migration"))
	con.printf("queries on GPUs %s, on the CPU %s; lists that were there %.1f %%\n", count(g.OnGPU), count(g.OnCPU), 100*g.HitRate)
	if g.DeviceTime > 0 {
		con.printf("device time %s: %.0f queries/s\n", took(g.DeviceTime), g.DeviceQPS)
	}
	for i := range g.Devices {
		d := &g.Devices[i]
		con.printf("%s (%s, CUDA %s): %s in %s of %s; brought %s, streamed %s, evicted %s, %s over the bus; %s\n", d.Name, d.GPU, d.Driver,
			plural(d.Lists, "list"), sizeOf(d.SizeBytes), sizeOf(d.LimitBytes), count(d.Misses), count(d.Streamed), count(d.Evictions),
			sizeOf(d.BytesUploaded), plural(d.Errors, "error"))
		if d.Lost != "" {
			con.printf("%s failed: %s\n", d.Name, d.Lost)
		}
	}
}
