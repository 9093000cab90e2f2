package plan

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// This file is the view of a plan for executors and policies (package dispatch).

// Planner returns the planner that made the plan.
func (p *Plan) Planner() *Planner { return p.planner }

// Snapshot returns the snapshot of the index that the plan reads.
func (p *Plan) Snapshot() *index.Snapshot { return p.planner.snapshot }

// Mode returns the requested mode.
func (p *Plan) Mode() Mode { return p.mode }

// K returns the number of requested hits.
func (p *Plan) K() int { return p.k }

// SelectK is the number of hits to find for a search that breaks ties by DocID: K, and more if the
// snapshot breaks them otherwise, so that Settle can.
func SelectK(p *Plan) int {
	if len(p.ties) == 0 || p.k == 0 {
		return p.k
	}
	return p.k + topk.TieSlack
}

// Settle breaks the ties among the best SelectK hits, best first, in their place, and returns the
// best K. It reports false if hits of equal score may be missing; RunCPU then has the answer.
func Settle(p *Plan, hits []base.Hit) ([]base.Hit, bool) {
	if len(p.ties) == 0 || p.k == 0 {
		return hits, true
	}
	return p.ties.Settle(hits, p.k, SelectK(p))
}

// Counts reports whether the number of matches is requested.
func (p *Plan) Counts() bool { return p.counts }

// NumStages returns 2 for ModeAndOr, unless both stages are equal, else 1.
func (p *Plan) NumStages() int { return len(p.stages) }

// Stage returns stage i.
func (p *Plan) Stage(i int) *Stage { return &p.stages[i] }

// Impacts returns the query over impact-ordered lists, or nil except in
// ModeSaat.
func (p *Plan) Impacts() *ImpactQuery {
	if p.mode != ModeSaat {
		return nil
	}
	return &p.saat
}

// Mode returns ModeOr or ModeAnd.
func (st *Stage) Mode() Mode { return st.mode }

// Kind returns whether the traversals of a flat stage are conjunctive.
func (st *Stage) Kind() traverse.Mode { return st.kind }

// IsFlat reports whether the stage has Legs: it is a list of words, all required or all
// optional, perhaps with filters and excluded words.
func (st *Stage) IsFlat() bool { return st.flat }

// IsEmpty reports whether the stage matches nothing.
func (st *Stage) IsEmpty() bool { return !st.flat && (st.root == nil || matchesNothing(st.root)) }

// Excludes reports whether the stage excludes documents or has filters: besides the legs it then needs the
// bitmaps of RunCPU.
func (st *Stage) Excludes() bool { return len(st.excluded) > 0 || len(st.filters) > 0 }

// SortTerms orders the terms of each flat stage by rising list length (Stage.Order), and finds the words
// of the others (Stage.Words). A dispatcher calls it before a run.
func (p *Plan) SortTerms() {
	for i := range p.stages {
		st := &p.stages[i]
		st.order = p.memory.numbers.take(len(st.leaves))
		for i := range st.order {
			st.order[i] = i
			for j := i; j > 0 && p.LegDocFreq(st, st.order[j]) < p.LegDocFreq(st, st.order[j-1]); j-- {
				st.order[j], st.order[j-1] = st.order[j-1], st.order[j]
			}
		}
		if p.mode != ModeSaat && (!st.flat || len(st.excluded) > 0) {
			st.splitWords(p)
		}
	}
}

// Order returns a flat stage's leg numbers by rising list length over all segments, valid after
// SortTerms.
func (st *Stage) Order() []int { return st.order }

// LegDocFreq returns a flat stage's list length over all segments, with deleted documents.
func (p *Plan) LegDocFreq(st *Stage, leg int) uint64 {
	if p.mode == ModeSaat {
		return p.words.docFreqs[st.leaves[leg].(*leaf).terms[0]]
	}
	n := uint64(0)
	for segment := range p.planner.snapshot.Segments {
		n += uint64(st.Legs(segment)[leg].List.DocFreq)
	}
	return n
}

// StageLists describes a stage's lists over all segments: of its Words, of its common words, or of a flat stage in the order of
// SortTerms, or the impact-ordered lists of ModeSaat; other stages have none.
func (p *Plan) StageLists(stage int) []ListTrace {
	if p.mode == ModeSaat {
		lists := make([]ListTrace, len(p.saat.terms))
		for i, t := range p.saat.terms {
			l := &p.saat.Terms[i].List
			lists[i] = ListTrace{Term: string(p.words.terms[t].bytes), DocFreq: l.DocFreq, Blocks: l.NumSegments()}
		}
		return lists
	}
	st := &p.stages[stage]
	var lists []ListTrace
	for i := range st.words {
		lists = append(lists, listTraceOf(p, st.words[i].leaf.terms[0]))
	}
	for i := 0; i < len(st.order) && len(st.words) == 0; i++ {
		lists = append(lists, listTraceOf(p, st.leaves[st.order[i]].(*leaf).terms[0]))
	}
	for _, term := range st.common {
		lists = append(lists, listTraceOf(p, term))
	}
	return lists
}

func listTraceOf(p *Plan, term int) (t ListTrace) {
	of := &p.words.terms[term]
	t.Field, t.Term = p.planner.fields[of.field], string(of.bytes)
	for segment := range p.planner.snapshot.Segments {
		list := p.words.list(segment, term)
		t.DocFreq += list.DocFreq
		t.Blocks += list.NumBlocks()
	}
	return t
}

// Lists are the lists [From, To) of a conjunction in the order of SortTerms.
type Lists struct {
	Stage    *Stage
	From, To int
}

// RunLists intersects a segment's candidates, or with From 0 the first list, with some lists of
// a conjunction on the CPU. After the last list the best go to the queue of sc (ResetHits, ResumeHits).
func (p *Plan) RunLists(ctx context.Context, sc *Scratch, lists Lists, segment int, c *traverse.Candidates, w *Work) error {
	view := &p.planner.snapshot.Segments[segment]
	legs := lists.Stage.Legs(segment)
	sc.legs = sc.legs[:0]
	for _, j := range lists.Stage.order[lists.From:lists.To] {
		sc.legs = append(sc.legs, legs[j])
	}
	sc.enter(view)
	sc.query = traverse.Query{Legs: sc.legs, NumDocs: view.NumDocs(), Live: view.Live.Words(), Base: view.Base}
	memory := takeTraversalMemory()
	var err error
	switch {
	case lists.To == len(lists.Stage.order):
		err = traverse.Finish(ctx, memory, &sc.query, c, &sc.queue, p.counts)
	case lists.From == 0:
		err = traverse.Begin(ctx, memory, &sc.query, c)
	default:
		err = traverse.Intersect(ctx, memory, &sc.query, c)
	}
	putTraversalMemory(memory, w)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("segment %s: query %s: %w", view.Name, p.query, err)
	}
	return nil
}

// Forget drops the references of sc to posting lists.
func (sc *Scratch) Forget() {
	clear(sc.legs[:cap(sc.legs)]) // earlier steps may have had more lists
	sc.counts = nil
	sc.query, sc.run = traverse.Query{}, stageRun{}
}
