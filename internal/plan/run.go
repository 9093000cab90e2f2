package plan

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Answer is the result of a query.
type Answer struct {
	// Hits are the best K, best first.
	Hits []base.Hit
	// Mode of the hits: ModeOr, ModeAnd or ModeSaat.
	Mode Mode
	// Traversal names the algorithm for display: the traversal in the segment
	// with the most postings, the accumulators, or the GPU's.
	Traversal string
	// By is the kind of processor that completed the answer.
	By sched.Place
	// Missed bounds the error of every score if the budget of ModeSaat ended
	// early; otherwise 0.
	Missed base.Score
	// Matches is the number of documents that match in Mode. It is set with Options.Count.
	Matches int64
	// Migrations counts changes of the processor, StepsAt the steps on each.
	// Both need a dispatcher.
	Migrations int
	StepsAt    [sched.NumPlaces]int
	// Work for the answer; zero if Cached.
	Work   Work
	Cached bool
}

// RunCPU answers the query on the CPU. It appends the hits to dst[:0] and a step for each segment
// to trace, if trace is not nil. It does not allocate once dst has room and sc and the pool of
// traversal memory have grown to the load. Exceptions: trees with BM25 parameters other than the
// index's compute bounds in every run, and the garbage collector may free pooled memory.
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
		dst = a.Hits
	}
}

// RunStage runs one stage of the query on the CPU and appends the hits to
// dst[:0]. It sets a, except the counts of a dispatcher, and adds to a.Work.
// stop can end it before ctx, except in ModeSaat.
func (p *Plan) RunStage(ctx context.Context, stop traverse.Interrupt, sc *Scratch, stage int, dst []base.Hit, a *Answer, trace *Trace) (err error) {
	a.By = sched.CPU
	if p.mode == ModeSaat {
		return p.runSaat(ctx, sc, dst, a, trace)
	}
	st := &p.stages[stage]
	p.ResetHits(sc)
	if st.root != nil && p.k > 0 {
		if err := p.runSegments(stop, sc, st, &a.Work, trace); err != nil {
			return err
		}
	}
	a.Mode, a.Traversal = st.mode, st.Traversal()
	a.Hits = sc.AppendHits(dst[:0])
	if p.counts && !p.FallsBack(stage, len(a.Hits)) {
		a.Matches, err = p.count(stop, sc, st, &a.Work)
	}
	return err
}

// ResetHits prepares the queue of hits in sc for a stage.
func (p *Plan) ResetHits(sc *Scratch) {
	sc.queue.Reset(min(p.k, p.planner.snapshot.NumDocs)) // the maximum number of hits
}

// AppendHits moves the hits from the queue to dst, best first.
func (sc *Scratch) AppendHits(dst []base.Hit) []base.Hit { return sc.queue.AppendSorted(dst) }

// runSegments searches all segments in DocID order, so a later document needs a
// higher score than the last hit.
func (p *Plan) runSegments(stop traverse.Interrupt, sc *Scratch, st *Stage, w *Work, trace *Trace) error {
	for i := range p.planner.snapshot.Segments {
		if err := stop.Err(); err != nil {
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
			work, err = p.runFlat(stop, sc, st, i)
		} else {
			work, err = p.runTree(stop, sc, st, i)
		}
		w.Add(work) // also after an error
		if trace != nil {
			trace.Add(began, p.step(st, i, name, work))
		}
		if err != nil {
			if ended := stop.Err(); ended != nil {
				return ended
			}
			return fmt.Errorf("segment %s: query %s: %w", p.planner.snapshot.Segments[i].Name, p.query, err)
		}
	}
	return nil
}

func (p *Plan) runFlat(stop traverse.Interrupt, sc *Scratch, st *Stage, segment int) (w Work, err error) {
	view := &p.planner.snapshot.Segments[segment]
	live, err := sc.mask.without(p, st, segment, &w)
	if err != nil {
		return w, err
	}
	sc.query = traverse.Query{Legs: st.Legs(segment), NumDocs: view.NumDocs(), Live: live, Base: view.Base}
	memory := takeTraversalMemory()
	err = st.traversals[segment].Run(stop, memory, &sc.query, &sc.queue)
	putTraversalMemory(memory, &w)
	return w, err
}

// traversalMemory pools scratch memory, up to a quarter of a MiB each.
var traversalMemory = sync.Pool{New: func() any { return new(traverse.Scratch) }}

// takeTraversalMemory returns memory from the pool. After a panic it is not
// returned.
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

func (p *Plan) runTree(stop traverse.Interrupt, sc *Scratch, st *Stage, segment int) (w Work, err error) {
	view := &p.planner.snapshot.Segments[segment]
	sc.pulse.reset(stop)
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

func (p *Plan) step(st *Stage, segment int, traversal string, work Work) Step {
	s := Step{
		Name: StepSegment, Processor: CPUName, Segment: p.planner.snapshot.Segments[segment].Name,
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
				Field: p.planner.fields[l.field], Term: string(p.terms[t].bytes), DocFreq: list.DocFreq, Blocks: list.NumBlocks(),
			})
		}
	})
	return s
}
