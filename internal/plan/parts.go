package plan

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/traverse"
)

// This file has the words of a stage by their parts, for a processor that knows no trees: "+a +(b c) d -e" has a clause of
// a, one of b and c, an optional d, and an excluded e. Filters and excluded sets are left to masks (StageMasks).

// Word is a word of a stage. A match has a word of each clause and no excluded one; its score is the sum over all words but
// these.
type Word struct {
	leaf *leaf
	// Clause is its clause, from 1; 0: none.
	Clause   int
	Excluded bool
	// DocFreq is the length of its lists over all segments, with deleted documents.
	DocFreq uint64
}

// Reasons why a stage has no Words.
const (
	wordsPhrase  = "it has a phrase, whose positions the GPU does not have"
	wordsScored  = "it has a part that is scored other than as a word: a pattern, a set, a function or a best one of several"
	wordsNested  = "its groups are nested: required groups may only have alternatives, optional and excluded ones only words"
	wordsAtLeast = "a number of its optional words is required"
	wordsNone    = "it has no words to look for"
	wordsFilters = "filters alone are required, so that documents without its words match"
)

// splitter makes the words of a tree.
type splitter struct {
	words    []Word
	filters  []node
	masked   []node // excluded
	offset   base.Score
	clauses  int
	whyNot   string
	excluded bool // a word is
	positive bool // a word is not
}

// splitWords sets words, or whyNoWords, of a stage that is not flat, or that excludes words. In a stage that is not flat
// it also sets filters, excluded and offset: the parts of the tree that masks can have.
func (st *Stage) splitWords(p *Plan) {
	var s splitter
	if st.flat {
		s.exclude(st.excluded)
		if !s.excluded {
			return
		}
		for _, n := range st.leaves {
			s.add(n, 0)
		}
	} else if g, ok := st.root.(*group); ok {
		s.group(g)
	} else if st.root != nil {
		s.refuse(st.root)
	}
	if st.whyNoWords = s.whyNot; s.whyNot != "" {
		if s.whyNot == wordsPhrase && st.named == nil {
			st.findCommon(p)
		}
		return
	}
	if !st.flat {
		st.filters, st.excluded, st.offset = s.filters, s.masked, s.offset
	}
	st.words = s.words
	for i := range st.words {
		w := &st.words[i]
		for segment := range p.planner.snapshot.Segments {
			w.DocFreq += uint64(p.words.list(segment, w.leaf.terms[0]).DocFreq)
		}
		for j := i; j > 0 && st.words[j].DocFreq < st.words[j-1].DocFreq; j-- {
			st.words[j], st.words[j-1] = st.words[j-1], st.words[j]
		}
	}
}

func (s *splitter) group(g *group) {
	if g.atLeast > 1 {
		s.whyNot = wordsAtLeast
		return
	}
	for _, n := range g.required {
		switch n := n.(type) {
		case *constant:
			s.filters = append(s.filters, n)
			s.offset += n.score
		case *group:
			s.clauses++
			switch {
			case n.atLeast > 1:
				s.whyNot = wordsAtLeast
			case len(n.required)+len(n.excluded) > 0:
				s.whyNot = wordsNested
			}
			for _, alternative := range n.optional {
				s.add(alternative, s.clauses)
			}
		default:
			s.clauses++
			s.add(n, s.clauses)
		}
	}
	for _, n := range g.optional {
		s.add(n, 0)
	}
	s.exclude(g.excluded)
	switch {
	case s.whyNot != "":
	case !s.positive:
		s.whyNot = wordsNone
	case s.clauses == 0 && len(g.required) > 0:
		s.whyNot = wordsFilters
	}
}

func (s *splitter) add(n node, clause int) {
	if l, ok := n.(*leaf); ok && !l.isPhrase() {
		s.words = append(s.words, Word{leaf: l, Clause: clause})
		s.positive = true
		return
	}
	s.refuse(n)
}

func (s *splitter) exclude(nodes []node) {
	for _, n := range nodes {
		l, ok := n.(*leaf)
		_, isConstant := n.(*constant)
		switch {
		case ok && !l.isPhrase():
			s.words = append(s.words, Word{leaf: l, Excluded: true})
			s.excluded = true
		case ok, isConstant:
			s.masked = append(s.masked, n)
		default:
			s.refuse(n)
		}
	}
}

func (s *splitter) refuse(n node) {
	switch n.(type) {
	case *leaf:
		s.whyNot = wordsPhrase
	case *group:
		s.whyNot = wordsNested
	default:
		s.whyNot = wordsScored
	}
	if hasPhrase(n) {
		s.whyNot = wordsPhrase
	}
}

// Words returns the words, by rising length of their lists, of a stage that is not flat, or that excludes words, valid
// after SortTerms. Without any, whyNot is the reason; it is "" for flat stages.
func (st *Stage) Words() (words []Word, whyNot string) { return st.words, st.whyNoWords }

// WordLeg sets leg to a word's list in a segment. The error wraps base.ErrCorrupt.
func WordLeg(p *Plan, leg *traverse.Leg, segment int, w *Word) error {
	return p.words.leg(leg, segment, w.leaf.terms[0], p.words.scorer(w.leaf))
}

// maskedBy returns the excluded nodes that a stage's masks have: with words, not the words.
func (st *Stage) maskedBy(o *MaskOptions) []node {
	if !st.flat || len(st.words) == 0 || o.Words {
		return st.excluded
	}
	var left []node
	for _, n := range st.excluded {
		if l, ok := n.(*leaf); !ok || l.isPhrase() {
			left = append(left, n)
		}
	}
	return left
}

// NeedsMask reports whether a stage has masks beside its Words, or beside its legs.
func (st *Stage) NeedsMask(o MaskOptions) bool { return len(st.filters)+len(st.maskedBy(&o)) > 0 }
