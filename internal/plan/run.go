package plan

import (
	"context"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Answer is the result of a query.
type Answer struct {
	// Hits are the best K, best first.
	Hits []base.Hit
	// Mode of the hits: ModeOr, ModeAnd or ModeSaat.
	Mode Mode
	// Traversal names, for display, the traversal in the segment with the most postings, the
	// accumulators, or the GPU's.
	Traversal string
	// By is the kind of processor that completed the answer.
	By sched.Place
	// Missed bounds the error of every score if the budget of ModeSaat ended early; otherwise
	// 0.
	Missed base.Score
	// Matches is the number of documents that match in Mode, with Options.Count.
	Matches int64
	// Workers is the greatest number of goroutines that searched or counted at a time, 0 or 1 without helpers.
	Workers int
	// Migrations counts changes of the processor, StepsAt the steps on each, with a dispatcher.
	Migrations int
	StepsAt    [sched.NumPlaces]int
	// Work for the answer; zero if Cached.
	Work   Work
	Cached bool
}

// RunCPU answers the query on the CPU, appends the hits to dst[:0] and, if trace is not nil,
// adds a step for each segment. It does not allocate once dst, sc and the pool of traversal
// memory have grown to the load. Exceptions: trees with BM25 parameters other than the index's
// compute bounds in every run, and the garbage collector may free pooled memory.
//
// The error is the context's, or wraps base.ErrCorrupt if a list is damaged.
func (p *Plan) RunCPU(ctx context.Context, sc *Scratch, dst []base.Hit, trace *Trace) (a Answer, err error) {
	trace.Begin()
	for stage := 0; ; stage++ {
		if err := p.RunStage(ctx, ctx, sc, stage, dst, &a, trace); err != nil {
			return Answer{}, err
		}
		if !p.FallsBack(stage, len(a.Hits)) {
			return a, nil
		}
	}
}

// RunStage runs one stage on the CPU and appends the hits to dst[:0]. It sets a, except the
// counts of a dispatcher, and adds to a.Work. stop can end it before ctx, except in ModeSaat.
func (p *Plan) RunStage(ctx context.Context, stop traverse.Interrupt, sc *Scratch, stage int, dst []base.Hit, a *Answer, trace *Trace) (err error) {
	a.By = sched.CPU
	if p.mode == ModeSaat {
		return p.saat.run(ctx, p, sc, dst, a, trace)
	}
	st := &p.stages[stage]
	p.ResetHits(sc)
	if trace == nil && (st.short || st.nothing && !p.counts) {
		if st.nothing {
			err = stop.Err()
		} else {
			err = runShort(p, stop, sc, st, &a.Work)
		}
		if err != nil {
			return err
		}
		a.Mode, a.Traversal = st.mode, st.Traversal()
		a.Hits = sc.AppendHits(dst[:0])
		return nil
	}
	r := sc.stage(p, st, stop)
	r.crew = p.planner.crew
	r.crew.enter()
	defer r.crew.leave()
	r.countWith(sc.unknownMatches(p))
	if st.root != nil && p.k > 0 {
		if err := r.searchAll(&a.Work, trace); err != nil {
			return err
		}
	}
	a.Mode, a.Traversal = st.mode, st.Traversal()
	a.Hits = sc.AppendHits(dst[:0])
	st.addOffset(a.Hits)
	if p.counts && !p.FallsBack(stage, len(a.Hits)) {
		a.Matches, err = r.countAll(&a.Work)
	}
	a.Workers = max(a.Workers, r.mostWorkers)
	return err
}

// unknownMatches returns numbers of matches by segment, if the plan counts, that are not known yet.
func (sc *Scratch) unknownMatches(p *Plan) []int64 {
	sc.matched = sc.matched[:0]
	if p.counts {
		for range p.planner.snapshot.Segments {
			sc.matched = append(sc.matched, -1)
		}
	}
	return sc.matched
}

// AddFilterScores adds the scores of a stage's filters to hits that another processor found without them.
func AddFilterScores(p *Plan, stage int, hits []base.Hit) {
	if p.mode != ModeSaat {
		p.stages[stage].addOffset(hits)
	}
}

// addOffset adds the scores of filters, which every document of a flat stage matches.
func (st *Stage) addOffset(hits []base.Hit) {
	if st.offset == 0 {
		return
	}
	for i := range hits {
		hits[i].Score += st.offset
	}
}

// ResetHits prepares the queue of sc for a stage.
func (p *Plan) ResetHits(sc *Scratch) {
	sc.queue.ResetTies(min(p.k, p.planner.snapshot.NumDocs), p.ties) // the maximum number of hits
	sc.last = 0
}

// ResumeHits is ResetHits with the best K hits of other segments.
func ResumeHits(p *Plan, sc *Scratch, hits []base.Hit) {
	p.ResetHits(sc)
	sc.addHits(hits)
}

// addHits adds hits of other segments.
func (sc *Scratch) addHits(hits []base.Hit) {
	for _, h := range hits {
		sc.queue.Add(h)
		sc.last = max(sc.last, h.DocID)
	}
}

// enter tells the queue whether hits of later segments than this one are in it.
func (sc *Scratch) enter(v *index.View) { sc.queue.SetUnordered(v.Base < sc.last) }

// AppendHits moves the hits from the queue to dst, best first.
func (sc *Scratch) AppendHits(dst []base.Hit) []base.Hit { return sc.queue.AppendSorted(dst) }

// traversalMemory pools up to a quarter of a MiB each.
var traversalMemory = sync.Pool{New: func() any { return new(traverse.Scratch) }}

// After a panic the memory is not returned.
func takeTraversalMemory() *traverse.Scratch {
	return traversalMemory.Get().(*traverse.Scratch)
}

func putTraversalMemory(s *traverse.Scratch, w *Work) {
	w.Add(Work{
		PostingsDecoded: s.Stats.PostingsDecoded, PostingsScored: s.Stats.PostingsScored,
		BlocksDecoded: s.Stats.BlocksDecoded, BlocksSkipped: s.Stats.BlocksSkipped,
	})
	s.Forget()
	traversalMemory.Put(s)
}
