package exec

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sched"
)

// feeder brings lists to the GPU that queries missed, beside them: a query that would be
// answered sooner if its lists were there as images, but not with the time to bring
// them, runs where it can, and its lists are brought for the next. One query's are at a
// time; others that come meanwhile are not remembered, as they will come again.
type feeder struct {
	busy atomic.Bool
	next atomic.Int64 // when the next may be, since start in nanoseconds
	fed  atomic.Int64 // queries whose lists were brought
}

// worth is how many times faster a query would have to be for its lists to be brought
// beside it.
const worth = 1.2

// pause after a wish that could not be fulfilled.
const pause = time.Second

// wish is a query whose lists are wanted, in memory of its own. It implements sched.Work.
type wish struct {
	d        *Dispatcher
	snapshot *index.Snapshot
	query    pipeline.Query
	features cost.Features // of bringing
	done     bool
}

var _ sched.Work = (*wish)(nil)

// wishFor has the lists of the run's stage brought that the GPU lacks, if it would be
// worth it.
func (r *placedRun) wishFor() {
	f := &r.d.feeder
	l := &r.located
	images := l.ImageRoom
	copies := l.BytesFile > 0 && l.Direct
	if l.BytesImage == 0 || !images && !copies || r.plan.mode == ModeSaat {
		return
	}
	if worth*float64(r.withImages()) > float64(min(r.choices[sched.CPU].total, r.choices[sched.GPU].total)) {
		return
	}
	if time.Since(r.d.start) < time.Duration(f.next.Load()) || !f.busy.CompareAndSwap(false, true) {
		return
	}
	w := &wish{d: r.d, snapshot: r.plan.searcher.snapshot.Retain(), features: r.bringing()}
	st := &r.plan.stages[r.stage]
	w.query = st.gpu
	w.query.Legs = make([]pipeline.Leg, len(st.gpu.Legs))
	lists := make([]postings.List, len(st.gpu.Legs))
	for i := range w.query.Legs {
		from, leg := &st.gpu.Legs[i], &w.query.Legs[i]
		lists[i] = *from.List
		leg.List, leg.DocFreq, leg.ID, leg.Field, leg.Term, leg.Scale = &lists[i], from.DocFreq, from.ID, from.Field, from.Term, from.Scale
	}
	if w.query.Path = pipeline.PathDirect; images {
		w.query.Path = pipeline.PathImages
	}
	go w.fulfil()
}

// fulfil brings the lists, when the GPU has time.
func (w *wish) fulfil() {
	f := &w.d.feeder
	began := time.Now()
	err := w.ask()
	wait := time.Since(began) // so that no more than half of the time goes into it
	if err != nil || !w.done {
		wait = pause
	} else {
		f.fed.Add(1)
	}
	f.next.Store(int64(time.Since(w.d.start) + wait))
	w.snapshot.Release()
	f.busy.Store(false)
}

// ask has the query answered on the GPU. A bug is an error: nobody waits for the answer.
func (w *wish) ask() (err error) {
	defer func() {
		if bug := recover(); bug != nil {
			c := invariant.Catch(bug)
			err = c
			w.d.reportBug("bringing lists to a GPU", c)
		}
	}()
	if w.d.pool == nil {
		return w.Run(context.Background(), sched.GPU)
	}
	j := sched.Job{Alone: true, Within: sched.Never}
	j.Cost[sched.CPU] = sched.Never
	j.Cost[sched.GPU] = w.d.costs.Predict(cost.BringImages, &w.features)
	return w.d.pool.Do(context.Background(), &j, w)
}

// Run implements sched.Work: it answers the query, for which lists have to come.
func (w *wish) Run(ctx context.Context, _ sched.Place) error {
	view, err := w.d.gpu.begin(w.snapshot, false /* impacts */)
	if err != nil {
		return err
	}
	defer w.d.gpu.end(view)
	results := make([]pipeline.Result, 1)
	err = view.Run(ctx, []*pipeline.Query{&w.query}, results, nil, nil)
	w.done = err == nil && results[0].Err == nil
	return err
}

// RunBatch implements sched.Work; wishes are alone.
func (w *wish) RunBatch(ctx context.Context, all []sched.Work, outcomes []error) {
	for i := range all {
		outcomes[i] = all[i].Run(ctx, sched.GPU)
	}
}
