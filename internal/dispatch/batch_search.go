package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// BatchScratch is the memory of SearchBatch. It grows to the needs of the largest batch. One goroutine
// at a time may use it. The zero value is ready for use.
type BatchScratch struct{ batch batch }

// batchView is the view of a snapshot that a batch uses.
type batchView struct {
	snapshot *index.Snapshot
	impacts  bool
	view     *pipeline.View
	err      error // why there is none
}

// SearchBatch answers queries of the Dispatcher's Searchers together. A GPU answers the queries
// that it supports, in few launches. CPUs answer the rest and, if the lists of the batch do not fit into
// the GPU's memory, a part of it. Without a GPU the queries are spread over the CPUs; each
// waits for a CPU of the Dispatcher's pool, if it has one. A batch is never shed, and has no deadline
// but the context's. A nil Dispatcher runs on the CPUs.
//
// answers[i] belongs to queries[i]. Its hits are appended to answers[i].Hits[:0], so that answers can
// be used again. On a GPU that has all lists SearchBatch allocates nothing once sc and the answers have
// served a batch of that size. A query with Options.Cached takes its answer from the result cache, but does
// not store it there. After an error the answers are undefined.
func (d *Dispatcher) SearchBatch(ctx context.Context, queries []*Query, sc *BatchScratch, answers []plan.Answer) error {
	if len(queries) != len(answers) {
		return fmt.Errorf("%d queries, but %d answers: %w", len(queries), len(answers), base.ErrBadInput)
	}
	b := &sc.batch
	b.reset()
	defer b.reset()
	for i, q := range queries {
		if q.searcher.dispatcher != d {
			return fmt.Errorf("query %d of %d is of another dispatcher: %w", i, len(queries), base.ErrBadInput)
		}
		if q.cached != nil {
			answers[i] = q.cached.Answer(answers[i].Hits)
			continue
		}
		answers[i] = plan.Answer{Hits: answers[i].Hits[:0]}
		b.items = append(b.items, batchItem{query: q, answer: &answers[i]})
	}
	if len(b.items) == 0 {
		return nil
	}
	return d.answerBatch(ctx, b)
}

// answerBatch answers the items of a batch.
func (d *Dispatcher) answerBatch(ctx context.Context, b *batch) error {
	g := d.GPU()
	switch {
	case g != nil:
		b.helpers.reset(ctx, g.slots, b.items, g.idle > 0)
	case d != nil && d.pool != nil: // queries and batches share its CPUs
		b.helpers.reset(ctx, nil, b.items, false)
		b.helpers.pool = d.pool
	default:
		b.helpers.reset(ctx, allCPUs(), b.items, false)
	}
	ended := false
	defer func() {
		if !ended { // a panic: nobody may write to answers after it
			b.helpers.abandon()
		}
		b.release(g)
	}()
	for i := range b.items {
		if it := &b.items[i]; g != nil && d.attachItem(b, it) {
			b.waiting = append(b.waiting, i)
		} else {
			b.helpers.add(i)
		}
	}
	if len(b.waiting) > 0 {
		b.helpers.start(len(b.items) - len(b.waiting)) // beside the GPU
		b.runGPU(ctx, d.costs, true /* failFast */)
	}
	var failed error
	for i := range b.items {
		switch it := &b.items[i]; {
		case it.err != nil:
			failed = it.err
		case it.refused != nil:
			b.helpers.add(i)
		}
	}
	if failed != nil {
		b.helpers.fail(failed)
	}
	err := b.helpers.finish()
	if ended = true; err != nil {
		return err
	}
	if g != nil {
		d.countBatch(b)
	}
	return nil
}

// RunInBatch answers the query on the CPU, as SearchBatch does without a GPU: it waits for a CPU of the
// pool, if there is one, is never shed, and takes an answer from the result cache but does not store
// one. The caller holds one of BatchSlots. The hits are appended to dst[:0].
func (q *Query) RunInBatch(ctx context.Context, sc *Scratch, dst []base.Hit) (plan.Answer, error) {
	if q.cached != nil {
		return q.cached.Answer(dst), nil
	}
	d := q.searcher.dispatcher
	if d == nil || d.pool == nil {
		return q.RunCPU(ctx, &sc.Scratch, dst[:0], nil)
	}
	w := &sc.inBatch
	w.query, w.sc, w.dst = q, &sc.Scratch, dst[:0]
	defer func() { w.query, w.sc, w.dst, w.answer = nil, nil, nil, plan.Answer{} }()
	w.job.begin(w.took)
	err := d.pool.Do(ctx, &w.job.Job, w)
	return w.answer, err
}

// batchJob is a job of a CPU's query of a batch.
type batchJob struct{ sched.Job }

// begin makes j a job that is not shed, and that is predicted to take a time.
func (j *batchJob) begin(took time.Duration) {
	j.Job = sched.Job{Alone: true, Admitted: true}
	j.Cost = [sched.NumPlaces]time.Duration{sched.CPU: max(took, 1), sched.GPU: sched.Never}
}

// queryInBatch is the work of RunInBatch. It implements sched.Work.
type queryInBatch struct {
	query  *Query
	sc     *plan.Scratch
	dst    []base.Hit
	answer plan.Answer
	job    batchJob
	took   time.Duration // by the last query
}

// Run implements sched.Work.
func (w *queryInBatch) Run(ctx context.Context, _ sched.Place) (err error) {
	began := time.Now()
	w.answer, err = w.query.RunCPU(ctx, w.sc, w.dst, nil)
	w.took = time.Since(began)
	return err
}

// RunBatch implements sched.Work. The queries are alone.
func (w *queryInBatch) RunBatch(ctx context.Context, all []sched.Work, outcomes []error) {
	for i := range all {
		outcomes[i] = all[i].Run(ctx, sched.CPU)
	}
}

// BatchSlots returns a channel with room for each query of a batch without a GPU that may run at the
// same time. A goroutine sends before it runs queries, and receives afterwards.
func (d *Dispatcher) BatchSlots() chan struct{} {
	if d == nil || d.slots == nil {
		return allCPUs()
	}
	return d.slots
}

// attachItem sets the view of an item that a GPU may answer, and reports whether one may.
func (d *Dispatcher) attachItem(b *batch, it *batchItem) bool {
	q := it.query
	if q.gpu.refusal != "" || q.policyOf(d).traits().noGPU {
		return false
	}
	snapshot, impacts := q.Snapshot(), q.Mode() == plan.ModeSaat
	for i := range b.views {
		if v := &b.views[i]; v.snapshot == snapshot && v.impacts == impacts {
			it.view = v.view
			return v.err == nil
		}
	}
	v := batchView{snapshot: snapshot, impacts: impacts}
	v.view, v.err = d.gpu.begin(snapshot, impacts)
	b.views = append(b.views, v)
	it.view = v.view
	return v.err == nil
}

// release gives the views of the batch back.
func (b *batch) release(g *GPU) {
	for i := range b.views {
		if v := &b.views[i]; v.err == nil {
			g.end(v.view)
		}
	}
	clear(b.views)
	b.views = b.views[:0]
}

// countBatch counts who answered the queries of a batch.
func (d *Dispatcher) countBatch(b *batch) {
	onGPU := int64(0)
	for i := range b.items {
		if b.items[i].answer.By == sched.GPU {
			onGPU++
		}
	}
	onCPU := int64(len(b.items)) - onGPU
	d.steps[sched.GPU].Add(onGPU)
	d.steps[sched.CPU].Add(onCPU)
	d.gpu.onGPU.Add(onGPU)
	d.gpu.onCPU.Add(onCPU)
}
