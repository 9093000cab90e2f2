package plan

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/traverse"
)

// words are a query's terms with their lists in all segments and their weights, for stages,
// iterators and explanations.
type words struct {
	planner  *Planner
	terms    []term
	docFreqs []uint64 // by term, over all segments, of live documents
	// lists are by segment, then term; noList if a segment has none. Queries share lists, which nobody changes, unless
	// they have further parts: these are in own.
	lists []*postings.List
	own   arena[postings.List]

	unused []bool // memory of unusedTerms
}

var noList = new(postings.List)

// phrases reports the terms of phrases, unused those without lists; nil: none.
func (ws *words) find(phrases, unused []bool) error {
	segments := ws.planner.snapshot.Segments
	ws.docFreqs = append(ws.docFreqs[:0], make([]uint64, len(ws.terms))...)
	ws.lists = slices.Grow(ws.lists[:0], len(segments)*len(ws.terms))[:0]
	ws.own.reset()
	for i := range segments {
		for t := range ws.terms {
			var parts segment.Parts
			if phrases != nil && phrases[t] {
				parts |= segment.Positions
			}
			if ws.planner.ownBounds {
				parts |= segment.Frontiers
			}
			if unused != nil && unused[t] {
				ws.lists = append(ws.lists, noList)
				continue
			}
			l, err := ws.open(segments[i].Segment, &ws.terms[t], parts)
			if err != nil {
				return err
			}
			ws.lists = append(ws.lists, l)
			ws.docFreqs[t] += segments[i].Deletions.DocFreq(l)
		}
	}
	return nil
}

// prefetch begins to load the lists.
func (ws *words) prefetch() {
	for _, l := range ws.lists {
		l.Prefetch()
	}
}

func (ws *words) open(s *segment.Segment, t *term, parts segment.Parts) (l *postings.List, err error) {
	found := false
	if parts == 0 {
		l, err = segment.FindShared(s, t.field, t.bytes)
		found = l != nil
	} else {
		l = ws.own.one()
		found, err = s.FindParts(t.field, t.bytes, parts, l)
	}
	if !found {
		l = noList
	}
	return l, err
}

func (ws *words) list(segment, term int) *postings.List {
	return ws.lists[segment*len(ws.terms)+term]
}

// maxWeight limits idf*boost of a leaf so that a contribution fits 32 bits (score.Term). Only a
// phrase of several rare terms with nearly the largest boost can exceed it.
const maxWeight = 60000

func (ws *words) idf(l *leaf) float64 {
	sum := 0.0
	for _, t := range l.terms {
		sum += ws.planner.idf(l.field, ws.docFreq(l, t))
	}
	return sum
}

// docFreq is the document frequency with which a leaf's term is weighted.
func (ws *words) docFreq(l *leaf, term int) uint64 {
	if l.blend == nil {
		return ws.docFreqs[term]
	}
	return l.blend.docFreq
}

// countJoined sets the document frequencies of blends and combined fields in a tree.
func (ws *words) countJoined(root node) (err error) {
	ws.countBlends(root)
	walkCombined(root, func(n *combined) {
		if err == nil {
			err = ws.countCombined(n)
		}
	})
	return err
}

// countBlends sets the document frequencies of the blends in a tree.
func (ws *words) countBlends(root node) {
	var last *blend
	walkLeaves(root, false, func(l *leaf, _ bool) {
		if l.blend == nil || l.blend == last { // the leaves of a blend follow each other
			return
		}
		last = l.blend
		last.docFreq = 0
		for _, t := range last.terms {
			last.docFreq = max(last.docFreq, ws.docFreqs[t])
		}
	})
}

func (ws *words) numDocs(segment int) int { return ws.planner.snapshot.Segments[segment].NumDocs() }

func (ws *words) scorer(l *leaf) score.Term {
	stats := &ws.planner.snapshot.Fields[l.field]
	if stats.WeightScale != 0 {
		return score.NewLinearTerm(l.boost, stats.WeightScale)
	}
	weight := min(ws.idf(l)*l.boost, maxWeight)
	return ws.planner.bm25.NewTerm(weight, 1, stats.AvgLen())
}

// leg sets leg to a term's list in a segment with bounds for scorer.
func (ws *words) leg(leg *traverse.Leg, segment, term int, scorer score.Term) error {
	s := ws.planner
	view := &s.snapshot.Segments[segment]
	field := ws.terms[term].field
	l := ws.list(segment, term)
	*leg = traverse.Leg{}
	leg.List, leg.Field, leg.Word, leg.Term = l, field, ws.terms[term].bytes, scorer
	if l.DocFreq == 0 {
		return nil
	}
	leg.Lengths = view.Lengths(field)
	leg.Derived = view.Derived.List(uint64(l.ID()))
	avgNow := s.snapshot.Fields[field].AvgLen()
	bound := l.Max
	if s.ownBounds {
		var err error
		leg.Bounds, bound, err = l.FrontierBounds(nil, score.Saturation{BM25: s.bm25, AvgLen: avgNow, Linear: scorer.Linear})
		if err != nil {
			return fmt.Errorf("segment %s: term %q: %w", view.Name, ws.terms[term].bytes, err)
		}
		leg.Scale = score.NewScale(scorer, avgNow, avgNow)
	} else {
		leg.Scale = score.NewScale(scorer, view.Meta().Fields[field].AvgLen, avgNow)
	}
	leg.MaxScore = leg.Scale.Upper(bound)
	if scorer.Linear && leg.MaxScore > maxWeight<<base.ScoreFractionBits {
		return fmt.Errorf("term %q: the query weight times the largest document weight is %.0f and exceeds %d: use smaller weights: %w",
			ws.terms[term].bytes, leg.MaxScore.Float64(), maxWeight, base.ErrBadInput)
	}
	return nil
}

// leafDocFreq bounds the documents of a leaf in a segment.
func (ws *words) leafDocFreq(segment int, l *leaf) int {
	least := int(base.MaxDocs)
	for _, t := range l.fixed() {
		least = min(least, int(ws.list(segment, t).DocFreq))
	}
	return least
}
