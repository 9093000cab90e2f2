package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/vfs"
)

// batch answers queries together on a GPU in few launches, with the help of CPUs: a part of a batch of
// SearchBatch, or a batch of the scheduler (batch_pool.go). Its memory is kept from batch to batch.
type batch struct {
	items          []batchItem
	waiting, later []int // items for the GPU, in this round and in the next
	helpers        helpers
	part           *batchPart // that the batch belongs to; nil: a scheduler's batch

	// The present launch: items of one view, their queries and results.
	now     []int
	queries []*pipeline.Query
	results []pipeline.Result
}

type batchItem struct {
	query  *Query          // nil: it could not be planned
	run    *queryRun       // of a scheduler's batch; else nil
	view   *pipeline.View  // of the query's snapshot; nil: the GPU does not answer it
	gpu    *pipeline.Query // of its present stage
	stage  int
	answer *plan.Answer
	// refused is the reason why the GPU did not answer it, and err ended it.
	refused, err error
}

// unanswered reports whether the item has neither an error nor a cached answer before the batch
// runs.
func (it *batchItem) unanswered() bool { return it.query != nil && it.query.cached == nil }

// present returns the stage that the GPU answers.
func (it *batchItem) present() int {
	if it.run != nil {
		return it.run.stage
	}
	return it.stage
}

// memory returns memory for the item's hits.
func (it *batchItem) memory() []base.Hit {
	if it.run != nil {
		return it.run.dst[:0]
	}
	return it.answer.Hits[:0]
}

// onCPU answers the item on the CPU, a run of a scheduler's batch until its own context ends. A
// mapped file that cannot be read is an error of this item only.
func (it *batchItem) onCPU(ctx context.Context, sc *plan.Scratch) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	var trace *plan.Trace
	if it.run != nil {
		ctx, trace = it.run.ctx, it.run.trace.Trace
	}
	if it.run == nil && it.view != nil && it.query.gpu.hasCommon() {
		return it.onBoth(ctx, it.query.searcher.dispatcher, sc)
	}
	a, err := it.query.RunCPU(ctx, sc, it.memory(), trace)
	if err == nil {
		*it.answer = a
	}
	return err
}

// fill takes the result of the item's stage from the GPU.
func (it *batchItem) fill(r *pipeline.Result) {
	if it.run != nil {
		it.run.filled(r)
	} else {
		it.query.fillFromGPU(it.answer, it.stage, r)
	}
}

// complete ends the item's stage. more: the next stage has to answer.
func (it *batchItem) complete() (more bool) {
	if it.run != nil {
		return it.run.completeFromBatch()
	}
	if !it.query.FallsBack(it.stage, len(it.answer.Hits)) {
		return false
	}
	it.stage++
	return true
}

// settle breaks the ties of the result, and reports whether it could.
func (it *batchItem) settle(r *pipeline.Result) bool {
	if it.run != nil {
		return settleTies(it.run.plan, r)
	}
	return settleTies(it.query, r)
}

func (it *batchItem) isTraced() bool { return it.run != nil && it.run.trace.isOn() }

func (it *batchItem) prepare() {
	if r := it.run; r != nil {
		r.gpu.query = *r.gpuQuery()
		r.gpu.query.Path = r.choices[sched.GPU].path
		it.gpu = &r.gpu.query
		return
	}
	it.gpu = &it.query.gpu.stages[it.stage]
}

// runGPU has the GPU answer the waiting items. Items with refused or err set are not answered;
// helpers may have answered others. If a device is lost, another one, if there is any, answers the
// items again.
func (b *batch) runGPU(ctx context.Context, g *GPU, costs *cost.Model) {
	b.runStages(ctx, g, costs)
	for i := range b.items {
		it := &b.items[i]
		if it.refused != nil && it.view != nil && g.isStranded(it.view) && b.attach(it) {
			it.refused = nil
			b.waiting = append(b.waiting, i)
		}
	}
	b.runStages(ctx, g, costs)
}

// attach gives an item a view, another one if the devices of the former are lost, and reports
// whether it has one.
func (b *batch) attach(it *batchItem) bool {
	if b.part != nil {
		return b.part.take(it)
	}
	err := it.run.attach()
	it.view = it.run.gpu.view
	return err == nil
}

// runStages has the GPU answer the waiting items, stage by stage.
func (b *batch) runStages(ctx context.Context, g *GPU, costs *cost.Model) {
	for len(b.waiting) > 0 {
		for len(b.waiting) > 0 {
			b.next()
			b.launch(ctx, g, costs)
		}
		b.waiting, b.later = b.later, b.waiting[:0]
	}
}

func (b *batch) next() {
	view := b.items[b.waiting[0]].view
	b.now, b.queries, b.results = b.now[:0], b.queries[:0], b.results[:0]
	rest := 0
	for _, i := range b.waiting {
		it := &b.items[i]
		if it.view != view {
			b.waiting[rest] = i
			rest++
			continue
		}
		it.prepare()
		b.now = append(b.now, i)
		b.queries = append(b.queries, it.gpu)
		b.results = append(b.results, pipeline.Result{Hits: it.memory()})
	}
	b.waiting = b.waiting[:rest]
}

func (b *batch) launch(ctx context.Context, g *GPU, costs *cost.Model) {
	kind, features, known := b.features()
	view := b.items[b.now[0]].view
	b.helpers.launch(b.now)
	var trace *pipeline.Trace
	if slices.ContainsFunc(b.now, func(i int) bool { return b.items[i].isTraced() }) {
		trace = new(pipeline.Trace)
	}
	began := time.Now()
	err := g.runView(ctx, view, b.queries, b.results, &b.helpers, trace)
	took := time.Since(began)
	filled, hasSmall := b.now[:0], false
	for j, i := range b.now {
		it, r := &b.items[i], &b.results[j]
		switch {
		case b.helpers.settle(i):
			known = false
		case err != nil:
			it.err = err
			known = false
		case r.Err != nil:
			it.refused = r.Err
			known = false
		case !it.settle(r):
			it.refused = errTies
		default:
			it.fill(r)
			if it.isTraced() {
				it.run.trace.device.Devices = slices.Clone(trace.Devices)
			}
			filled = append(filled, i)
			hasSmall = hasSmall || len(it.query.gpu.small) > 0
		}
	}
	if hasSmall {
		b.addSmall(ctx, filled)
	}
	for _, i := range filled {
		it := &b.items[i]
		if it.err != nil {
			continue
		}
		plan.AddFilterScores(&it.query.Plan, it.present(), it.answer.Hits)
		if it.complete() {
			b.later = append(b.later, i)
		}
	}
	if known {
		costs.Observe(kind, &features, took)
	}
}

// features sums the features of the items that are next. known is false if they differ in kind,
// may need lists to be loaded, or have no predictions.
func (b *batch) features() (kind cost.Kind, sum cost.Features, known bool) {
	if b.items[b.now[0]].run == nil {
		return kind, sum, false
	}
	kind = b.items[b.now[0]].run.predictor.kind(sched.GPU)
	for _, i := range b.now {
		p := &b.items[i].run.predictor
		if !p.isLocated || p.located.BytesImage > 0 || p.isMasked() || p.kind(sched.GPU) != kind {
			return kind, sum, false
		}
		f := &p.whole
		sum.Lists += f.Lists
		sum.K = max(sum.K, f.K)
		sum.Shortest += f.Shortest
		sum.Second += f.Second
		sum.Longest += f.Longest
		sum.Sum += f.Sum
		sum.Essential += f.Essential
	}
	sum.Batch = len(b.now)
	return kind, sum, true
}

func (b *batch) reset() {
	clear(b.items)
	clear(b.queries[:cap(b.queries)])
	clear(b.results[:cap(b.results)])
	b.items, b.waiting, b.later, b.now = b.items[:0], b.waiting[:0], b.later[:0], b.now[:0]
	b.queries, b.results, b.part = b.queries[:0], b.results[:0], nil
}
