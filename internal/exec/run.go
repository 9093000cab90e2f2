package exec

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Answer is what a run of a Plan gave.
type Answer struct {
	// Hits are the best K, best first.
	Hits []base.Hit
	// Mode that they are of, ModeOr, ModeAnd or ModeSaat, and the name of the
	// traversal in the segment with the most postings, or of the accumulators.
	Mode      Mode
	Traversal string
	// Missed is the most by which the score of any document is too low because the
	// budget of ModeSaat ended before all postings were processed; 0: it did not.
	Missed base.Score
	// Matches is the number of documents that match in Mode, if Options.Count.
	Matches int64
	// Migrations is how often the query went from one processor to another, StepsAt how
	// many steps ran at each place; zero without a Dispatcher.
	Migrations int
	StepsAt    [sched.NumPlaces]int
	// Work is what was done for it, nothing if it is Cached: from a ResultCache.
	Work   Work
	Cached bool
}

// Run answers the query. The hits are appended to dst[:0]. It allocates nothing
// once sc has served a query as large, as many have run at a time, and dst has room for
// the hits (but for trees with BM25 parameters that are not the index's, whose bounds are
// computed in every run; and the garbage collector may take the memory of traversals that
// nobody used for a while).
//
// If the context ends the error is the context's; if a list is found to be
// damaged it wraps base.ErrCorrupt.
func (p *Plan) Run(ctx context.Context, sc *Scratch, dst []base.Hit) (Answer, error) {
	if p.cached != nil {
		return p.cached.appendTo(dst), nil
	}
	if len(p.key) > 0 {
		return p.searcher.results.answer(ctx, p, dst, func() (Answer, error) { return p.run(ctx, sc, dst, nil) })
	}
	return p.run(ctx, sc, dst, nil)
}

// RunTraced is Run, and adds a step to the trace for each segment. With a nil trace it
// is Run.
func (p *Plan) RunTraced(ctx context.Context, sc *Scratch, dst []base.Hit, t *Trace) (Answer, error) {
	if t == nil {
		return p.Run(ctx, sc, dst)
	}
	if len(p.key) > 0 {
		return Answer{}, errCached
	}
	return p.run(ctx, sc, dst, t)
}

// run answers where the Searcher's Dispatcher says, if it has anything to say.
func (p *Plan) run(ctx context.Context, sc *Scratch, dst []base.Hit, trace *Trace) (Answer, error) {
	trace.begin()
	if d := p.searcher.dispatcher; d.active() {
		return d.run(ctx, p, sc, dst, trace)
	}
	return p.runCPU(ctx, sc, dst, trace)
}

func (p *Plan) runCPU(ctx context.Context, sc *Scratch, dst []base.Hit, trace *Trace) (a Answer, err error) {
	if p.mode == ModeSaat {
		return p.runSaat(ctx, sc, dst, trace)
	}
	room := min(p.k, p.searcher.snapshot.NumDocs) // no more can be found
	var st *stage
	for i := range p.stages {
		st = &p.stages[i]
		a.Mode, a.Traversal = st.mode, st.name()
		sc.queue.Reset(room)
		if st.root != nil && p.k > 0 {
			if err := p.runStage(ctx, sc, st, &a.Work, trace); err != nil {
				return Answer{}, err
			}
		}
		if sc.queue.Len() == p.k {
			break
		}
	}
	a.Hits = sc.queue.AppendSorted(dst[:0])
	if p.counts {
		a.Matches, err = p.count(ctx, sc, st, &a.Work)
	}
	return a, err
}

// runStage searches all segments, in the order of their DocIDs, so that in each
// a document of the same score as the last of the hits so far is not needed.
func (p *Plan) runStage(ctx context.Context, sc *Scratch, st *stage, w *Work, trace *Trace) error {
	for i := range p.searcher.snapshot.Segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		var began time.Time
		if trace != nil {
			began = time.Now()
		}
		var work Work
		var err error
		name := treeTraversal
		if st.flat && (len(st.excluded) == 0 || p.maskPays(st, i)) {
			name = st.traversals[i].Name()
			work, err = p.runFlat(ctx, sc, st, i)
		} else {
			work, err = p.runTree(ctx, sc, st, i)
		}
		w.Add(work) // of what is given up, too
		if trace != nil {
			trace.add(began, p.step(st, i, name, work))
		}
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("segment %s: query %s: %w", p.searcher.snapshot.Segments[i].Name, p.query, err)
		}
	}
	return nil
}

// runFlat runs the stage's traversal on a segment.
func (p *Plan) runFlat(ctx context.Context, sc *Scratch, st *stage, segment int) (w Work, err error) {
	view := &p.searcher.snapshot.Segments[segment]
	live, err := sc.mask.without(p, st, segment, &w)
	if err != nil {
		return w, err
	}
	sc.query = traverse.Query{Legs: st.segmentLegs(segment), NumDocs: view.NumDocs(), Live: live, Base: view.Base}
	memory := takeTraversalMemory()
	err = st.traversals[segment].Run(ctx, memory, &sc.query, &sc.queue)
	putTraversalMemory(memory, &w)
	return w, err
}

// traversalMemory is what no traversal uses: a quarter of a MiB each, once all traversals
// have run in it.
var traversalMemory = sync.Pool{New: func() any { return new(traverse.Scratch) }}

// takeTraversalMemory returns memory for a traversal, to be put back unless that panics.
func takeTraversalMemory() *traverse.Scratch {
	return traversalMemory.Get().(*traverse.Scratch)
}

// putTraversalMemory puts it back, and adds to w what was done with it.
func putTraversalMemory(s *traverse.Scratch, w *Work) {
	w.Add(Work{
		PostingsDecoded: s.Stats.PostingsDecoded, PostingsScored: s.Stats.PostingsScored,
		BlocksDecoded: s.Stats.BlocksDecoded, BlocksSkipped: s.Stats.BlocksSkipped,
	})
	s.Forget()
	traversalMemory.Put(s)
}

// runTree evaluates the stage's tree on a segment, document at a time.
func (p *Plan) runTree(ctx context.Context, sc *Scratch, st *stage, segment int) (w Work, err error) {
	view := &p.searcher.snapshot.Segments[segment]
	sc.pulse.reset(ctx)
	sc.tree.reset(p, segment, &sc.pulse)
	root, err := sc.tree.build(st.root)
	if err != nil || root == nil {
		return w, err
	}
	prune, _ := root.(pruner)
	var need base.Score
	for doc := base.DocID(0); ; doc++ {
		if n := sc.queue.Need(); n > need {
			need = n
			if root.MaxScore() < need {
				break
			}
			if prune != nil {
				prune.SetNeed(need)
			}
		}
		doc = root.NextGEQ(doc)
		if doc == base.NoDocID || sc.pulse.stopped() {
			break
		}
		if view.Live == nil || view.Live.Has(int(doc)) {
			sc.queue.Add(base.Hit{DocID: view.Base + doc, Score: root.Score()})
		}
	}
	if err = sc.tree.finish(&w); err == nil {
		err = sc.pulse.err
	}
	return w, err
}

// step describes the search of a segment.
func (p *Plan) step(st *stage, segment int, traversal string, work Work) Step {
	s := Step{
		Name: stepSegment, Processor: cpu, Segment: p.searcher.snapshot.Segments[segment].Name,
		Traversal: traversal, Mode: st.mode, Work: work,
	}
	seen := make([]bool, len(p.terms))
	walkLeaves(st.root, false, func(l *leaf, _ bool) {
		for _, t := range l.terms {
			if seen[t] {
				continue
			}
			seen[t] = true
			list := p.list(segment, t)
			s.Lists = append(s.Lists, ListTrace{
				Field: p.searcher.fields[l.field], Term: string(p.terms[t].bytes), DocFreq: list.DocFreq, Blocks: list.NumBlocks(),
			})
		}
	})
	return s
}
