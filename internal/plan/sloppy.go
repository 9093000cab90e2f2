package plan

import (
	"cmp"

	"github.com/griffin-search/griffin/internal/base"
)

// sloppyMatcher computes the frequency of a phrase with slop: the sum of 1/(1+length) over its matches,
// where length is how far the terms are from their places, at most the slop. It is the algorithm of
// Lucene's SloppyPhraseMatcher: the term with the least position relative to its place advances while
// this shortens the match. Two occurrences of a repeated term never have the same position, because the
// lesser of the two advances.
type sloppyMatcher struct {
	terms []sloppyTerm
	end   int64 // greatest position
}

type sloppyTerm struct {
	positions []uint32
	next      int
	offset    int64
	position  int64 // relative to the term's place in the phrase
	order     int
	cursor    int  // terms of one cursor are repetitions
	repeated  bool // there are others
	queued    bool
}

func (t *sloppyTerm) advance() bool {
	if t.next == len(t.positions) {
		return false
	}
	t.position = int64(t.positions[t.next]) - t.offset
	t.next++
	return true
}

func (t *sloppyTerm) text() int64 { return t.position + t.offset }

func (s *sloppyMatcher) frequency(p *phraseIterator) float32 {
	if !s.begin(p) {
		return 0
	}
	slop := int64(p.slop)
	total := 0.0
	add := func(length int64) {
		if length <= slop {
			total += 1 / float64(1+length)
		}
	}
	t := s.pop()
	length, next := s.end-t.position, s.least().position
	for s.advance(t) && (!t.repeated || s.separate(t)) {
		if t.position <= next {
			length = min(length, s.end-t.position)
			continue
		}
		t.queued = true
		add(length)
		t = s.pop()
		length, next = s.end-t.position, s.least().position
	}
	add(length)
	return float32(total)
}

// begin places each term at its first position, repetitions at later ones.
func (s *sloppyMatcher) begin(p *phraseIterator) bool {
	s.terms = s.terms[:0]
	for _, slot := range p.slots {
		s.terms = append(s.terms, sloppyTerm{
			positions: p.cursors[slot.cursor].positions, offset: int64(slot.offset), order: slot.order, cursor: slot.cursor, queued: true,
		})
	}
	base.SortFew(s.terms, func(x, y sloppyTerm) int {
		return cmp.Or(cmp.Compare(x.offset, y.offset), cmp.Compare(x.order, y.order))
	})
	s.end = -1 << 62
	for i := range s.terms {
		t := &s.terms[i]
		before := 0
		for j := range s.terms {
			if j != i && s.terms[j].cursor == t.cursor {
				t.repeated = true
				if j < i {
					before++
				}
			}
		}
		for range before + 1 {
			if !t.advance() {
				return false
			}
		}
		s.end = max(s.end, t.position)
	}
	return true
}

func (s *sloppyMatcher) advance(t *sloppyTerm) bool {
	ok := t.advance()
	s.end = max(s.end, t.position)
	return ok
}

// least returns the first term of the queue.
func (s *sloppyMatcher) least() (first *sloppyTerm) {
	for i := range s.terms {
		if t := &s.terms[i]; t.queued && (first == nil || cmp.Or(cmp.Compare(t.position, first.position), cmp.Compare(t.offset, first.offset), cmp.Compare(t.order, first.order)) < 0) {
			first = t
		}
	}
	return first
}

func (s *sloppyMatcher) pop() *sloppyTerm {
	t := s.least()
	t.queued = false
	return t
}

// separate advances terms until no repetition stands where t or one that it met stands; false at the end of
// a term.
func (s *sloppyMatcher) separate(t *sloppyTerm) bool {
	for {
		other := s.meets(t)
		if other == nil {
			return true
		}
		if other.position < t.position || other.position == t.position && other.offset < t.offset {
			t = other
		}
		if !s.advance(t) {
			return false
		}
	}
}

func (s *sloppyMatcher) meets(t *sloppyTerm) *sloppyTerm {
	for i := range s.terms {
		if o := &s.terms[i]; o != t && o.cursor == t.cursor && o.text() == t.text() {
			return o
		}
	}
	return nil
}
