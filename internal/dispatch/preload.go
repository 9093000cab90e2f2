package dispatch

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/vfs"
)

// preloader loads lists to the GPU in the background. A query that would be faster with images
// of its lists, not counting the time to load them, runs elsewhere, and its lists are loaded
// for the next query, one query's at a time. Other requests are dropped, since such queries
// come again.
type preloader struct {
	busy      atomic.Bool
	next      atomic.Int64 // time of the next load at the earliest, in nanoseconds since start
	preloaded atomic.Int64 // queries whose lists were loaded
}

// preloadGain is the speedup from which lists are worth loading.
const preloadGain = 1.2

// preloadPause follows a load that failed.
const preloadPause = time.Second

// preloadRequest is a query whose lists are to be loaded, in memory of its own.
type preloadRequest struct {
	d        *Dispatcher
	snapshot *index.Snapshot
	query    pipeline.Query
	features cost.Features // of loading
	done     bool
}

var _ sched.Work = (*preloadRequest)(nil)

func (r *queryRun) requestPreload() {
	f := &r.d.preloader
	l := &r.predictor.located
	images := l.ImageRoom
	copies := l.BytesFile > 0 && l.Packed
	if l.BytesImage == 0 || !images && !copies || r.plan.Impacts() != nil {
		return
	}
	if preloadGain*float64(r.predictor.wholeByImages()) > float64(min(r.choices[sched.CPU].total, r.choices[sched.GPU].total)) {
		return
	}
	if time.Since(r.d.start) < time.Duration(f.next.Load()) || !f.busy.CompareAndSwap(false, true) {
		return
	}
	go r.preloadRequest(images).serve()
}

// preloadRequest returns a request to load images, or else copies in page-locked memory.
func (r *queryRun) preloadRequest(images bool) *preloadRequest {
	from := r.gpuQuery()
	w := &preloadRequest{d: r.d, snapshot: r.plan.Snapshot().Retain(), features: r.predictor.missingImages()}
	w.query.Conjunctive, w.query.K, w.query.Count, w.query.NumTerms, w.query.Wide = from.Conjunctive, from.K, from.Count, from.NumTerms, from.Wide
	w.query.Parts = slices.Clone(from.Parts)
	w.query.Legs = make([]pipeline.Leg, len(from.Legs))
	lists := make([]postings.List, len(from.Legs))
	for i := range w.query.Legs {
		leg := from.Legs[i].Leg
		lists[i] = *leg.List
		leg.List, leg.Word = &lists[i], slices.Clone(leg.Word)
		w.query.Legs[i].Leg = leg
	}
	if w.query.Path = pipeline.PathPacked; images {
		w.query.Path = pipeline.PathImages
	}
	return w
}

func (w *preloadRequest) serve() {
	f := &w.d.preloader
	began := time.Now()
	err := w.ask()
	wait := time.Since(began) // so at most half of the time goes into loading
	if err != nil || !w.done {
		wait = preloadPause
	} else {
		f.preloaded.Add(1)
	}
	f.next.Store(int64(time.Since(w.d.start) + wait))
	w.snapshot.Release()
	f.busy.Store(false)
}

// ask turns a panic into an error, since nobody waits for the answer.
func (w *preloadRequest) ask() (err error) {
	defer func() {
		if bug := recover(); bug != nil {
			c := invariant.Catch(bug)
			err = c
			w.d.reportBug("loading lists to a GPU", c)
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

func (w *preloadRequest) Run(ctx context.Context, _ sched.Place) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
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

// RunBatch implements sched.Work; requests are alone.
func (w *preloadRequest) RunBatch(ctx context.Context, all []sched.Work, outcomes []error) {
	for i := range all {
		outcomes[i] = all[i].Run(ctx, sched.GPU)
	}
}
