package dispatch

import (
	"context"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// BatchQueries are the queries of a batch. Its methods may be called concurrently.
type BatchQueries interface {
	Len() int
	// The error of NewWorker ends the batch.
	NewWorker() (BatchWorker, error)
	// Fail takes the error of query i, of Prepare, of Complete or of running it, also of a
	// mapped file that cannot be read. The other queries continue.
	Fail(i int, err error)
}

// BatchWorker plans and completes queries of a batch, on one goroutine at a time. It is not
// used again after a panic.
type BatchWorker interface {
	// Scratch is for queries that run on the worker's goroutine.
	Scratch() *Scratch
	// Prepare plans query i. It may use the memory of into, a former query.
	Prepare(i int, into *Query) (*Query, error)
	// Complete takes the answer of query i, possibly on another worker than Prepare. a is valid
	// until it returns. It may keep a.Hits if it leaves other memory there.
	Complete(i int, q *Query, a *plan.Answer) error
	Release()
}

// BatchScratch is the memory of SearchBatch. It grows to the needs of the largest batch. One
// goroutine at a time may use it, not after a panic. The zero value is ready for use.
type BatchScratch struct {
	parts    []*batchPart
	prepared preparedBatch
}

func (sc *BatchScratch) take(n int) []*batchPart {
	for len(sc.parts) < n {
		sc.parts = append(sc.parts, new(batchPart))
	}
	return sc.parts[:n]
}

// defaultPartQueries is the number of queries of a batch that a GPU answers together. Larger launches
// are not faster, and with several parts, one is planned or completed while a GPU answers another.
const defaultPartQueries = 1024

// leastPartQueries is the least number of queries for which a batch is divided among replicas.
const leastPartQueries = 256

// SearchBatch answers queries of the Dispatcher's Searchers together.
//
// Without a GPU, several goroutines plan, run and complete one query after another. With one, a
// batch has parts of at most 1.5 * defaultPartQueries. The queries of a part are planned; the
// GPU answers the ones that it supports, in few launches; CPUs answer the rest, and some of the
// others if the lists do not fit into the GPU's memory; then all are completed. While a part has
// few queries for the GPU, the others are answered and completed as soon as they are planned.
// Several parts are under way at the same time.
//
// All batches together use at most Config.CPUs CPUs. Without a GPU, each query also waits
// for a CPU of the Dispatcher's pool, if it has one. A batch is never shed, and has no
// deadline but the context's. A nil Dispatcher runs on the CPUs. Queries with Options.Cached
// read the result cache but do not store into it.
//
// The error is the context's, or of queries.NewWorker; then some queries are neither completed
// nor failed.
func (d *Dispatcher) SearchBatch(ctx context.Context, queries BatchQueries, sc *BatchScratch) error {
	n := queries.Len()
	if err := ctx.Err(); n == 0 || err != nil {
		return err
	}
	if e := d.Engine(); e != nil && e.BatchSize() > 1 {
		return d.searchByEngine(ctx, queries, sc, e.BatchSize())
	}
	if d.GPU() == nil {
		p := sc.take(1)[0]
		defer p.forget()
		p.begin(ctx, d, queries, 0, n)
		err := p.each(wholly, cap(p.slots), maxTurn)
		if err == nil {
			err = ctx.Err()
		}
		return err
	}
	if parts := d.numParts(n); parts > 1 {
		return d.searchParts(ctx, queries, sc, parts)
	}
	return d.searchPart(ctx, queries, 0, n, sc.take(1)[0])
}

// numParts returns the number of parts of a batch of n queries: each idle replica of the GPU gets one, if
// it is worth a launch.
func (d *Dispatcher) numParts(n int) int {
	parts := 1
	if n > d.partQueries+d.partQueries/2 {
		parts = (n + d.partQueries - 1) / d.partQueries
	}
	return max(parts, min(d.gpu.idle(), n/leastPartQueries))
}

// searchParts plans or completes one part while others are in the GPU's lanes.
func (d *Dispatcher) searchParts(ctx context.Context, queries BatchQueries, sc *BatchScratch, parts int) error {
	n := queries.Len()
	memory := sc.take(min(parts, d.gpu.lanes+1))
	var next atomic.Int64
	var failed atomic.Pointer[error]
	answerNext := func(p *batchPart) (more bool) {
		i := int(next.Add(1)) - 1
		if i >= parts || failed.Load() != nil {
			return false
		}
		err := errPanic
		defer func() {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		}()
		err = d.searchPart(ctx, queries, i*n/parts, (i+1)*n/parts, p)
		return err == nil
	}
	var group invariant.Group
	for _, p := range memory {
		group.Go(func() {
			for answerNext(p) {
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (d *Dispatcher) searchPart(ctx context.Context, queries BatchQueries, from, to int, p *batchPart) error {
	defer p.forget()
	p.begin(ctx, d, queries, from, to)
	parts := int(d.parts.Add(1)) // under way: they share the CPUs
	defer d.parts.Add(-1)
	workers := min(cap(p.slots)/parts, p.n/queriesPerWorker)
	p.grow()
	p.atOnce.begin(d)
	err := p.each(planning, workers, firstTurn)
	p.countAtOnce()
	if err != nil {
		return err
	}
	if p.atOnce.kept.Load() == 0 {
		return ctx.Err()
	}
	answer := p.answer
	if d.engine != nil {
		answer = p.answerByEngine
	}
	if err := answer(); err != nil {
		return err
	}
	if err := p.each(completing, workers, queriesPerWorker); err != nil {
		return err
	}
	return ctx.Err()
}

// batchView is a snapshot's view that a batch uses.
type batchView struct {
	snapshot *index.Snapshot
	impacts  bool
	view     *pipeline.View
	err      error // why there is none
}

func (p *batchPart) grow() {
	if more := p.n - len(p.plans); more > 0 {
		p.plans = append(p.plans, make([]Query, more)...)
		p.answers = append(p.answers, make([]plan.Answer, more)...)
	}
	p.items = append(p.items[:0], make([]batchItem, p.n)...)
}

func (p *batchPart) plan(w BatchWorker, i int, room *int) error {
	q, err := w.Prepare(p.from+i, &p.plans[*room])
	if err != nil {
		return err
	}
	a := &p.answers[*room]
	if p.answersAtOnce(q, i) {
		return p.answerAtOnce(w, i, q, a)
	}
	*room++
	p.atOnce.kept.Add(1)
	if q.gpu.refusal == "" && q.cached == nil {
		if err := q.gpu.masks.make(p.ctx, q, &w.Scratch().Scratch); err != nil {
			return err
		}
	}
	if q.cached != nil {
		*a = q.cached.Answer(a.Hits)
	} else {
		*a = plan.Answer{Hits: a.Hits[:0]}
	}
	p.items[i] = batchItem{query: q, answer: a}
	return nil
}

func (p *batchPart) answer() error {
	g, h := p.d.gpu, &p.helpers
	p.part = p
	h.reset(p.ctx, p.slots, p.items, !g.unaided)
	ended := false
	defer p.release() // also if abandon panics
	defer func() {
		if !ended { // a panic: nobody may write to answers after it
			h.abandon()
		}
	}()
	left := 0
	for i := range p.items {
		switch it := &p.items[i]; {
		case !it.unanswered():
		case p.take(it) && !it.query.gpu.hasCommon():
			p.waiting = append(p.waiting, i)
		default:
			h.add(i)
			left++
		}
	}
	if len(p.waiting) > 0 {
		h.start(left) // beside the GPU
		p.runGPU(p.ctx, p.d.gpu, p.d.costs)
	}
	for i := range p.items {
		if p.items[i].refused != nil {
			h.add(i)
		}
	}
	err := h.finish()
	ended = true
	if err == nil {
		err = p.ctx.Err()
	}
	if err == nil {
		p.count()
	}
	return err
}

func (p *batchPart) complete(w BatchWorker, i int) error {
	it := &p.items[i]
	if it.query == nil { // it could not be planned
		return nil
	}
	return w.Complete(p.from+i, it.query, it.answer)
}

// take sets the view of an item, and reports whether a GPU may answer it.
func (p *batchPart) take(it *batchItem) bool {
	q := it.query
	if q.gpu.refusal != "" || q.policyOf(p.d).traits().noGPU {
		return false
	}
	snapshot, impacts := q.Snapshot(), q.Mode() == plan.ModeSaat
	for i := range p.views {
		if v := &p.views[i]; v.snapshot == snapshot && v.impacts == impacts {
			if v.err == nil && p.d.gpu.isStranded(v.view) {
				p.d.gpu.end(v.view)
				v.view, v.err = p.d.gpu.begin(snapshot, impacts)
			}
			it.view = v.view
			return v.err == nil
		}
	}
	v := batchView{snapshot: snapshot, impacts: impacts}
	v.view, v.err = p.d.gpu.begin(snapshot, impacts)
	p.views = append(p.views, v)
	it.view = v.view
	return v.err == nil
}

func (p *batchPart) release() {
	for i := range p.views {
		if v := &p.views[i]; v.err == nil {
			p.d.gpu.end(v.view)
		}
	}
	clear(p.views)
	p.views = p.views[:0]
}

func (p *batchPart) count() {
	var n [sched.NumPlaces]int64
	for i := range p.items {
		if it := &p.items[i]; it.unanswered() && it.err == nil {
			n[it.answer.By]++
		}
	}
	for at := range n {
		p.d.steps[at].Add(n[at])
	}
	p.d.gpu.onGPU.Add(n[sched.GPU])
	p.d.gpu.onCPU.Add(n[sched.CPU])
}
