package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/query"
	"github.com/griffin-search/griffin/trec"
)

type benchmark struct {
	options  benchOptions
	planning dispatch.Options
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

// measure makes an untimed pass, which warms up and counts the work, before the timed runs.
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
			plan, err := b.searcher.Prepare(workers[0].scratch, b.nodes[i], b.planning)
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
	r.benchGarbage = benchGarbage{
		AllocsPerQuery: float64(after.Mallocs-before.Mallocs) / total,
		GCCycles:       after.NumGC - before.NumGC, GCPause: time.Duration(after.PauseTotalNs - before.PauseTotalNs),
	}
	return nil
}

// run answers all queries options.runs times.
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

// now returns elapsed time, or processor time of the thread; only differences have a meaning.
func (b *benchmark) now() time.Duration {
	if b.options.cpuTime {
		d, _ := latency.ThreadTime()
		return d
	}
	return time.Since(b.began)
}

// collectEvery simulates garbage of other parts of a process until stop is called.
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

// measureBandwidth compares the queries' memory traffic with the machine's bandwidth.
func (b *benchmark) measureBandwidth() {
	const sizeBytes = 256 << 20 // per thread, larger than any cache
	r := &b.result
	passes := r.QPS / float64(max(r.Queries, 1)) // per second
	r.ListTraffic, r.Traffic = passes*float64(r.Work.BytesRead), passes*float64(r.Work.BytesMoved)
	r.Bandwidth = saat.Bandwidth(r.Threads, sizeBytes)
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
	if err := w.searcher.PrepareInto(&w.plan, w.scratch, w.nodes[i], w.planning); err != nil {
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

// warmUp lets every worker answer every query, so that its scratch memory grows: first the one
// that counts the work, then the others concurrently.
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
