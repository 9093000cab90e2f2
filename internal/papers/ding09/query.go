package ding09

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/papers/lists"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/traverse"
)

// stage is an attempt at an answer; AND+OR has two.
type stage struct {
	mode        plan.Mode
	conjunctive bool
	// segments has the terms of each segment, the shortest list first. Without terms, no
	// document matches. Of a disjunction, they are the terms that the segment has.
	segments [][]*traverse.Leg
	// k is the number of hits to select: those that the query wants, or candidates of a second phase.
	k int
	// globals has the global scores by segment; nil: none.
	globals []*documentScores
}

// stagesOf returns the stages of a plan. The error wraps base.ErrBadInput if the plan is not a list
// of words.
func stagesOf(p *plan.Plan) ([]stage, error) {
	stages := make([]stage, p.NumStages())
	for i := range stages {
		st := p.Stage(i)
		if !st.IsEmpty() && !st.IsFlat() || st.Excludes() {
			return nil, fmt.Errorf("engine ding09 answers lists of words, without excluded words, phrases or groups, not %s: %w", p.Query(), base.ErrBadInput)
		}
		stages[i] = stageOf(p, st)
	}
	return stages, nil
}

func stageOf(p *plan.Plan, st *plan.Stage) stage {
	s := stage{mode: st.Mode(), k: hitsOf(p), segments: make([][]*traverse.Leg, len(p.Snapshot().Segments))}
	if !st.IsFlat() {
		return s
	}
	for i := range s.segments {
		legs := st.Legs(i)
		s.conjunctive = st.Kind() == traverse.And || len(legs) == 1 && st.Mode() == plan.ModeAnd
		s.segments[i] = termsOf(legs, s.conjunctive)
	}
	return s
}

// hitsOf is the maximum number of hits, before ties are settled.
func hitsOf(p *plan.Plan) int { return min(plan.SelectK(p), p.Snapshot().NumDocs) }

// fallsBack is plan.Plan.FallsBack for hits that can be more than the query wants: candidates.
func fallsBack(p *plan.Plan, stage, hits int) bool { return p.FallsBack(stage, min(hits, p.K())) }

func termsOf(legs []traverse.Leg, conjunctive bool) []*traverse.Leg {
	var terms []*traverse.Leg
	for i := range legs {
		if legs[i].DocFreq() > 0 {
			terms = append(terms, &legs[i])
		}
	}
	if conjunctive && len(terms) < len(legs) {
		return nil
	}
	slices.SortStableFunc(terms, func(a, b *traverse.Leg) int { return cmp.Compare(a.DocFreq(), b.DocFreq()) })
	return terms
}

// kept are the lists in the codes of both processors.
var kept = lists.NewKind("ding09")

// code is the code of the lists of a processor. number identifies it in kept.
type code struct {
	codec  codec.Codec
	number uint64
}

// list returns the list of a term of a segment with numDocs documents. The error wraps
// base.ErrCorrupt if the index is damaged.
func (c code) list(t *traverse.Leg, numDocs int) (*lists.List, error) {
	l, err := kept.Get(t.Derived, t.List, c.codec, c.number)
	if err != nil {
		return nil, err
	}
	if last := l.Last(l.NumBlocks() - 1); int64(last) >= int64(numDocs) || len(t.Lengths) < numDocs {
		return nil, fmt.Errorf("list ends at DocID %d, with lengths of %d documents of %d: %w", last, len(t.Lengths), numDocs, base.ErrCorrupt)
	}
	return l, nil
}
