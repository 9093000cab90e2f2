package dispatch

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/vfs"
)

// batchPart is a range of the queries of a batch of SearchBatch, and the goroutines that work on it.
// With a GPU, batch answers its queries.
type batchPart struct {
	batch
	ctx     context.Context //nolint:containedctx // of the batch
	d       *Dispatcher     // may be nil without a GPU
	queries BatchQueries
	from, n int // the range: n queries from a number on
	slots   chan struct{}

	turns turns
	group invariant.Group

	// With a GPU only. Each turn of the first phase uses the plans and answers of its queries from the first on, and one of
	// them again after a query that it has answered.
	plans   []Query
	answers []plan.Answer
	views   []batchView
	atOnce  atOnce
}

// phase is the work of a batch's goroutines on each query.
type phase uint8

const (
	wholly     phase = iota // plan, run and complete
	planning                // for a GPU; what only CPUs answer is also run and completed (batch_at_once.go)
	completing              // what was planned
)

const (
	// maxTurn is the maximum number of queries that a goroutine runs at a time.
	maxTurn = 16
	// firstTurn is the number of queries of the first turns of a batch beside a GPU, until it is known whether some are answered at once.
	firstTurn = 4
	// queriesPerWorker is the maximum number of queries that a goroutine plans or completes at a
	// time, and the least number that makes the start of another one worthwhile. Each query takes
	// about a microsecond.
	queriesPerWorker = 64
)

// allCPUs are the slots of batches without a GPU and limits.
var allCPUs = sync.OnceValue(func() chan struct{} { return make(chan struct{}, runtime.GOMAXPROCS(0)) })

// batchSlots returns a channel with room for each goroutine that may work for a batch at the
// same time (acquire).
func (d *Dispatcher) batchSlots() chan struct{} {
	if d == nil || d.slots == nil {
		return allCPUs()
	}
	return d.slots
}

func acquire(ctx context.Context, slots chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *batchPart) begin(ctx context.Context, d *Dispatcher, queries BatchQueries, from, to int) {
	p.batch.reset()
	p.ctx, p.d, p.queries, p.from, p.n, p.slots = ctx, d, queries, from, to-from, d.batchSlots()
	p.turns.failed.Store(nil)
}

func (p *batchPart) forget() {
	p.batch.reset()
	p.ctx, p.d, p.queries = nil, nil, nil
}

// each does a phase on each query, on this goroutine and up to workers-1 others, until one
// fails.
func (p *batchPart) each(phase phase, workers int, maxTurn int64) error {
	workers = max(min(workers, p.n), 1)
	p.turns.phase = phase
	p.turns.n = int64(p.n)
	p.turns.workers.Store(int64(workers))
	p.turns.longest.Store(maxTurn)
	p.turns.next.Store(0)
	defer p.group.Wait() // also if the work here panics
	for range workers - 1 {
		p.group.Go(p.work)
	}
	p.work()
	p.group.Wait()
	if err := p.turns.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (p *batchPart) work() {
	w, err := p.queries.NewWorker()
	if err != nil {
		p.turns.fail(err)
		return
	}
	for more := true; more; {
		w, more = p.turn(w)
	}
	if w != nil {
		w.Release()
	}
}

// turn waits for a slot and works on the next queries. It returns the worker for the following
// ones, nil if there is none; more: there may be others.
func (p *batchPart) turn(w BatchWorker) (_ BatchWorker, more bool) {
	if err := acquire(p.ctx, p.slots); err != nil {
		p.turns.fail(err)
		return w, false
	}
	held, ended := true, false
	defer func() {
		if held {
			<-p.slots
		}
		if !ended { // a panic ends the batch
			p.turns.fail(errPanic)
		}
	}()
	from, to := p.turns.claim()
	room := int(from)
	var began time.Time // of the answers since the slot was acquired
	for i := from; i < to; i++ {
		err := p.ctx.Err()
		if err == nil && !p.do(w, int(i), &room) {
			w, err = p.queries.NewWorker()
		}
		if err == nil && i+1 < to && p.turns.phase == planning && p.atOnce.begun.Load() {
			switch {
			case began.IsZero():
				began = time.Now()
			case time.Since(began) > longTurn:
				<-p.slots
				err = acquire(p.ctx, p.slots)
				held, began = err == nil, time.Time{}
			}
		}
		if err != nil {
			p.turns.fail(err)
			break
		}
	}
	if p.turns.phase == planning && !p.atOnce.begun.Load() {
		p.turns.longest.CompareAndSwap(firstTurn, queriesPerWorker)
	}
	ended = true
	return w, from < to && to < int64(p.n)
}

// do works on query i, in planning with the plan and the answer of number room. It reports whether the worker can be used
// again: after a fault, the state of its memory is unknown.
func (p *batchPart) do(w BatchWorker, i int, room *int) (intact bool) {
	if p.turns.phase == completing && p.items[i].err != nil { // of its run, which did not use w
		p.queries.Fail(p.from+i, p.items[i].err)
		return true
	}
	err := p.attempt(w, i, room)
	if err == nil {
		return true
	}
	p.queries.Fail(p.from+i, err)
	return !errors.As(err, new(*vfs.Fault))
}

// attempt makes a mapped file that cannot be read an error of this query only.
func (p *batchPart) attempt(w BatchWorker, i int, room *int) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	switch p.turns.phase {
	case planning:
		return p.plan(w, i, room)
	case completing:
		return p.complete(w, i)
	}
	sc, number := w.Scratch(), p.from+i
	q, err := w.Prepare(number, &sc.batch.plan)
	if err != nil {
		return err
	}
	if err := q.runInBatch(p.ctx, sc); err != nil {
		return err
	}
	return w.Complete(number, q, &sc.batch.answer)
}

type turns struct {
	phase            phase
	n                int64
	workers, longest atomic.Int64
	next             atomic.Int64
	failed           atomic.Pointer[error]
}

// errPanic ends the other goroutines of a batch that panicked.
var errPanic = errors.New("a query of the batch panicked")

func (t *turns) fail(err error) { t.failed.CompareAndSwap(nil, &err) }

// claim returns the range of the next turn, empty if there is none. Turns become shorter at the
// end, because the workers wait for the last one.
func (t *turns) claim() (from, to int64) {
	const turnsLeft = 4 // of each worker
	for {
		from = t.next.Load()
		if from >= t.n || t.failed.Load() != nil {
			return from, from
		}
		to = from + min(max((t.n-from)/(turnsLeft*t.workers.Load()), 1), t.longest.Load())
		if t.next.CompareAndSwap(from, to) {
			return from, to
		}
	}
}

// queryInBatch is a query of a batch without a GPU while a CPU runs it.
type queryInBatch struct {
	plan   Query // its memory
	query  *Query
	sc     *plan.Scratch
	answer plan.Answer // its hits have the memory of former ones
	job    sched.Job
	took   time.Duration // by the last query
}

// runInBatch sets sc.batch.answer. It waits for a CPU of the pool, is never shed, and reads the
// result cache but does not store into it.
func (q *Query) runInBatch(ctx context.Context, sc *Scratch) (err error) {
	w := &sc.batch
	if q.cached != nil {
		w.answer = q.cached.Answer(w.answer.Hits)
		return nil
	}
	w.query, w.sc = q, &sc.Scratch
	defer func() { w.query, w.sc = nil, nil }()
	d := q.searcher.dispatcher
	if d == nil || d.pool == nil {
		return w.run(ctx)
	}
	w.job = sched.Job{Alone: true, Admitted: true}
	w.job.Cost = [sched.NumPlaces]time.Duration{sched.CPU: max(w.took, 1), sched.GPU: sched.Never}
	return d.pool.Do(ctx, &w.job, w)
}

func (w *queryInBatch) run(ctx context.Context) error {
	a, err := w.query.answerAlone(ctx, w.sc, w.answer.Hits[:0])
	if err != nil {
		return err
	}
	w.answer = a
	return nil
}

func (w *queryInBatch) Run(ctx context.Context, _ sched.Place) error {
	began := time.Now()
	err := w.run(ctx)
	w.took = time.Since(began)
	return err
}

// RunBatch implements sched.Work; the queries are alone.
func (w *queryInBatch) RunBatch(ctx context.Context, all []sched.Work, outcomes []error) {
	for i := range all {
		outcomes[i] = all[i].Run(ctx, sched.CPU)
	}
}
