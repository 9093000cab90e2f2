package exec

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

// RunBatch implements sched.Work: it answers stages of several runs together on the
// GPU. What it does not answer gets an outcome that wraps sched.ErrFailed; the CPU
// continues it where it is. If it panics, all runs begin again when they are run.
func (r *placedRun) RunBatch(ctx context.Context, all []sched.Work, outcomes []error) {
	done := false
	defer func() {
		if !done {
			tear(all)
		}
	}()
	began := time.Now()
	b := &r.group
	b.reset()
	for _, w := range all { // all of them before anything can panic
		w.(*placedRun).traceWait()
	}
	for i, w := range all {
		o := w.(*placedRun)
		if err := o.attach(); err != nil {
			outcomes[i] = o.refuse(err)
			continue
		}
		b.runs, b.of = append(b.runs, o), append(b.of, i)
	}
	for len(b.runs) > 0 {
		for len(b.runs) > 0 {
			b.next()
			r.launch(ctx, b, outcomes)
		}
		// Of ModeAndOr, those that did not find enough.
		b.runs, b.later = b.later, b.runs[:0]
		b.of, b.ofLater = b.ofLater, b.of[:0]
	}
	b.reset()
	for i, w := range all {
		if o := w.(*placedRun); o.trace != nil && outcomes[i] == nil {
			o.traceBatch(began, len(all))
		}
	}
	done = true
}

// tear notes that runs may be anywhere.
func tear(all []sched.Work) {
	for _, w := range all {
		w.(*placedRun).torn = true
	}
}

// launch answers the queries of b that are next.
func (r *placedRun) launch(ctx context.Context, b *runGroup, outcomes []error) {
	kind, features, known := b.features()
	began := time.Now()
	err := b.now[0].view.Run(ctx, b.queries, b.results, nil, nil)
	took := time.Since(began)
	for i, o := range b.now {
		number, result := b.numbers[i], &b.results[i]
		switch {
		case err != nil:
			outcomes[number] = err
			known = false
		case result.Err != nil:
			outcomes[number] = o.refuse(result.Err)
			known = false
		default:
			o.filled(result)
			o.arrive(sched.GPU)
			if !o.endStage(sched.GPU) {
				o.look()
				b.later, b.ofLater = append(b.later, o), append(b.ofLater, number)
			}
		}
	}
	if known {
		r.d.costs.Observe(kind, &features, took)
	}
}

// runGroup has the runs of a batch. Its memory is kept.
type runGroup struct {
	runs, later []*placedRun // that wait: for this stage, for the next
	of, ofLater []int        // their numbers in the batch

	// Those that are answered next, all of one view.
	now     []*placedRun
	numbers []int
	queries []*pipeline.Query
	results []pipeline.Result
}

// reset forgets the runs.
func (b *runGroup) reset() {
	for _, runs := range []*[]*placedRun{&b.runs, &b.later, &b.now} {
		clear((*runs)[:cap(*runs)])
		*runs = (*runs)[:0]
	}
	clear(b.queries[:cap(b.queries)])
	clear(b.results[:cap(b.results)])
	b.of, b.ofLater, b.numbers, b.queries, b.results = b.of[:0], b.ofLater[:0], b.numbers[:0], b.queries[:0], b.results[:0]
}

// next takes all runs of the first one's view out of those that wait.
func (b *runGroup) next() {
	view := b.runs[0].view
	b.now, b.numbers, b.queries, b.results = b.now[:0], b.numbers[:0], b.queries[:0], b.results[:0]
	rest := 0
	for i, o := range b.runs {
		if o.view != view {
			b.runs[rest], b.of[rest] = o, b.of[i]
			rest++
			continue
		}
		o.query = o.plan.stages[o.stage].gpu
		o.query.Path = o.choices[sched.GPU].path
		b.now, b.numbers = append(b.now, o), append(b.numbers, b.of[i])
		b.queries = append(b.queries, &o.query)
		b.results = append(b.results, pipeline.Result{Hits: o.dst[:0]})
	}
	b.runs, b.of = b.runs[:rest], b.of[:rest]
}

// features are the sums over the queries that are next. known is false if they are not
// of one kind, or if lists may have to be brought for them.
func (b *runGroup) features() (kind cost.Kind, sum cost.Features, known bool) {
	kind = b.now[0].kind(sched.GPU)
	for _, o := range b.now {
		if !o.isLocated || o.located.BytesImage > 0 || o.kind(sched.GPU) != kind {
			return kind, sum, false
		}
		f := &o.whole
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
