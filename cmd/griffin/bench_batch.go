package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/latency"
)

// batchResult is what a benchmark of batches adds to a result.
type batchResult struct {
	Size    int `json:"size"`
	Batches int `json:"batches"`
	// Latency is of whole batches: planning, unless it is left out, and the answers.
	Latency latency.Summary `json:"latency_us"`
}

// gpuResult is what a benchmark on GPUs adds to a result: the counts of the measured
// part.
type gpuResult struct {
	exec.GPUStats
	// HitRate is how many of the lists that queries asked for were there.
	HitRate float64 `json:"hit_rate"`
	// DeviceTime is the devices' own time for the kernels of batches, the greatest of
	// any device, and DeviceQPS the queries over it; 0 of single queries.
	DeviceTime time.Duration `json:"device_ns,omitempty"`
	DeviceQPS  float64       `json:"device_qps,omitempty"`
}

// batchWorker answers batches on one goroutine.
type batchWorker struct {
	*benchmark
	scratch *exec.Scratch
	plans   []*exec.Plan
	own     []exec.Plan // planned anew for each batch; nil: they are prepared
	answers []exec.Answer
}

func (b *benchmark) newBatchWorker(analyzer string) (*batchWorker, error) {
	scratch, err := exec.NewScratch(analyzer)
	if err != nil {
		return nil, err
	}
	n := b.options.batch
	w := &batchWorker{benchmark: b, scratch: scratch, plans: make([]*exec.Plan, n), answers: make([]exec.Answer, n)}
	if b.plans == nil {
		w.own = make([]exec.Plan, n)
		for i := range w.own {
			w.plans[i] = &w.own[i]
		}
	}
	return w, nil
}

// answer answers the queries numbered [from, to) of the log, which begins anew at its
// end.
func (w *batchWorker) answer(ctx context.Context, from, to int) error {
	for i := from; i < to; i++ {
		query := i % len(w.nodes)
		if w.own == nil {
			w.plans[i-from] = w.benchmark.plans[query]
			continue
		}
		if err := w.searcher.PrepareInto(&w.own[i-from], w.scratch, w.nodes[query], w.exec); err != nil {
			return fmt.Errorf("query %s: %w", w.ids[query], err)
		}
	}
	n := to - from
	return w.searcher.RunBatch(ctx, w.plans[:n], w.scratch, w.answers[:n])
}

// newBatchWorkers returns a worker for each thread. Each has answered a batch as large
// as there is, so that its memory has grown and lists have come.
func (b *benchmark) newBatchWorkers(ctx context.Context, analyzer string) ([]*batchWorker, error) {
	workers := make([]*batchWorker, b.options.threads)
	for i := range workers {
		var err error
		if workers[i], err = b.newBatchWorker(analyzer); err != nil {
			return nil, err
		}
		for range warmBatches {
			if err := workers[i].answer(ctx, 0, b.options.batch); err != nil {
				return nil, err
			}
		}
	}
	return workers, nil
}

// warmBatches is how many batches make every lane of a GPU grow.
const warmBatches = 4

// measureBatches times batches of all runs of the log, taken as one sequence. The
// worker of each thread takes the next.
func (b *benchmark) measureBatches(ctx context.Context, workers []*batchWorker) (time.Duration, error) {
	total := len(b.nodes) * b.options.runs
	times := make([]time.Duration, (total+b.options.batch-1)/b.options.batch)
	b.beginGPU()
	var next atomic.Int64
	var wg sync.WaitGroup
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

// newGPUResult returns what is printed of counts.
func newGPUResult(s exec.GPUStats) *gpuResult {
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

// beginGPU notes what the GPUs have done so far.
func (b *benchmark) beginGPU() { b.before = b.gpu.Stats() }

// endGPU puts what they did since into the result.
func (b *benchmark) endGPU(queries int) {
	if b.gpu == nil {
		return
	}
	r := newGPUResult(b.gpu.Stats().Since(&b.before))
	for i := range r.Devices {
		r.DeviceTime = max(r.DeviceTime, r.Devices[i].Busy)
	}
	if r.DeviceTime > 0 {
		r.DeviceQPS = float64(queries) / r.DeviceTime.Seconds()
	}
	b.result.GPU = r
	d := b.dispatcher.Stats()
	b.result.Dispatch = &d
}

// printBatch prints what a benchmark of batches, or on GPUs, adds.
func (a *app) printBatch(r *benchResult) {
	if b := r.Batch; b != nil {
		a.printf("batches of %s: p50 %s, p99 %s, max %s\n", plural(b.Size, "query"), took(b.Latency.P50), took(b.Latency.P99), took(b.Latency.Max))
	}
	g := r.GPU
	if g == nil {
		return
	}
	d := r.Dispatch
	a.printf("policy %s: steps on the CPU %s, on GPUs %s, with the warm-up; %s\n", d.Policy, count(d.CPUSteps), count(d.GPUSteps), plural(d.Migrations, "migration"))
	a.printf("queries on GPUs %s, on the CPU %s; lists that were there %.1f %%\n", count(g.OnGPU), count(g.OnCPU), 100*g.HitRate)
	if g.DeviceTime > 0 {
		a.printf("device time %s: %.0f queries/s\n", took(g.DeviceTime), g.DeviceQPS)
	}
	for i := range g.Devices {
		d := &g.Devices[i]
		a.printf("%s (%s, CUDA %s): %s in %s of %s; brought %s, streamed %s, evicted %s, %s over the bus; %s\n", d.Name, d.GPU, d.Driver,
			plural(d.Lists, "list"), sizeOf(d.SizeBytes), sizeOf(d.LimitBytes), count(d.Misses), count(d.Streamed), count(d.Evictions),
			sizeOf(d.BytesUploaded), plural(d.Errors, "error"))
		if d.Lost != "" {
			a.printf("%s failed: %s\n", d.Name, d.Lost)
		}
	}
}
