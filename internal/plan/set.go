package plan

import (
	"bytes"

	"github.com/griffin-search/griffin/internal/automaton"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
)

// everything is the source of all documents.
type everything struct{}

var _ source = everything{}

func (everything) mark(m *matcher, words []uint64) error {
	everyDocument(words, m.view().NumDocs())
	return nil
}

func (everything) cost(ws *words, segment int) int { return ws.numDocs(segment) / 64 }

// existing is the source of the documents with a term in a field.
type existing struct{ field base.FieldID }

var _ source = existing{}

func (e existing) mark(m *matcher, words []uint64) error {
	view := m.view()
	if err := view.CheckLengths(e.field); err != nil {
		return err
	}
	for d := range base.DocID(view.NumDocs()) {
		if view.Length(e.field, d) > 0 {
			words[d/64] |= 1 << (d % 64)
		}
	}
	return nil
}

func (existing) cost(ws *words, segment int) int { return ws.numDocs(segment) }

type idSource struct{ ids []string }

var _ source = (*idSource)(nil)

func (s *idSource) mark(m *matcher, words []uint64) error {
	for _, id := range s.ids {
		doc, found, err := m.view().Lookup([]byte(id))
		if err != nil {
			return err
		}
		if found {
			words[doc/64] |= 1 << (doc % 64)
		}
	}
	return nil
}

func (s *idSource) cost(*words, int) int { return 500 * len(s.ids) }

// Estimated cost of a source that reads many terms: a look-up of a term, and the terms of a pattern if
// they are unknown, relative to all terms of the field.
const (
	termCost     = 1000
	unknownTerms = 100
)

func (m *matcher) markTerms(words []uint64, it *segment.TermIterator, more func(term []byte) bool) error {
	view := m.view()
	var l postings.List
	for n := 0; it.Next(); n++ {
		if more != nil && !more(it.Term()) {
			break
		}
		if n%64 == 63 {
			if err := m.stop.Err(); err != nil {
				return err
			}
		}
		if err := segment.OpenList(view.Segment, it, &l); err != nil {
			return err
		}
		if err := m.markList(words, &l); err != nil {
			return err
		}
	}
	return it.Err()
}

type prefixSource struct {
	field  base.FieldID
	prefix []byte
}

var _ source = (*prefixSource)(nil)

func (s *prefixSource) mark(m *matcher, words []uint64) error {
	return m.markTerms(words, m.view().Terms(s.field, s.prefix), nil)
}

func (s *prefixSource) cost(ws *words, segment int) int {
	return unknownTerms*termCost + ws.numDocs(segment)/64
}

type patternSource struct {
	field   base.FieldID
	pattern *automaton.Pattern
}

var _ source = (*patternSource)(nil)

func (s *patternSource) mark(m *matcher, words []uint64) error {
	a := s.pattern.Automaton()
	err := m.markTerms(words, segment.TermsMatching(m.view().Segment, s.field, []byte(s.pattern.Prefix()), a), nil)
	if err == nil {
		err = a.Err()
	}
	return err
}

func (s *patternSource) cost(ws *words, segment int) int {
	return 10*unknownTerms*termCost + ws.numDocs(segment)/64
}

type termsSource struct {
	field base.FieldID
	terms [][]byte // rising
}

var _ source = (*termsSource)(nil)

func (s *termsSource) mark(m *matcher, words []uint64) error {
	var l postings.List
	for i, t := range s.terms {
		if i%64 == 63 {
			if err := m.stop.Err(); err != nil {
				return err
			}
		}
		found, err := m.view().Find(s.field, t, &l)
		if err == nil && found {
			err = m.markList(words, &l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *termsSource) cost(*words, int) int { return len(s.terms) * termCost }

// rangeSource is a range of terms; an empty bound is none.
type rangeSource struct {
	field                  base.FieldID
	from, to               []byte
	excludeFrom, excludeTo bool
}

var _ source = (*rangeSource)(nil)

func (s *rangeSource) mark(m *matcher, words []uint64) error {
	it := segment.TermsFrom(m.view().Segment, s.field, s.from)
	if s.excludeFrom && len(s.from) > 0 {
		it = segment.TermsFrom(m.view().Segment, s.field, append(bytes.Clone(s.from), 0)) // the next possible term
	}
	return m.markTerms(words, it, func(term []byte) bool {
		order := bytes.Compare(term, s.to)
		return len(s.to) == 0 || order < 0 || order == 0 && !s.excludeTo
	})
}

func (s *rangeSource) cost(ws *words, segment int) int {
	return 10*unknownTerms*termCost + ws.numDocs(segment)/64
}
