package aggregate

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/griffin-search/griffin/internal/column"
)

// lexicon numbers the terms of all segments. If only one segment has terms, their ordinals are the
// numbers.
type lexicon struct {
	r      *Request
	e      *env
	field  string
	single int // the only segment; -1: several
	column *column.Column
	only   *column.Column // of the segment single

	ids     map[string]int64
	terms   []string
	numbers []int32 // of the segment's ordinals, plus 1; 0: not yet known
}

// extra is added to the numbers of terms that the only segment lacks.
const extra = int64(1) << 40

func (l *lexicon) begin(segment int, c *column.Column) error {
	l.column = c
	if l.single >= 0 || c == nil {
		if segment == l.single {
			l.only = c
		}
		return nil
	}
	if err := l.e.budget.take(l.r, 4*max(0, c.NumTerms()-cap(l.numbers))); err != nil {
		return err
	}
	l.numbers = slices.Grow(l.numbers[:0], c.NumTerms())[:c.NumTerms()]
	clear(l.numbers)
	return nil
}

// number returns the number of an ordinal of the segment.
func (l *lexicon) number(ord int64) (int64, error) {
	if l.single >= 0 {
		return ord, nil
	}
	if n := l.numbers[ord]; n > 0 {
		return int64(n - 1), nil
	}
	term, err := l.column.Term(ord)
	if err != nil {
		return 0, l.r.wrap(err)
	}
	n, err := l.intern(term)
	if err == nil {
		l.numbers[ord] = int32(n + 1)
	}
	return n, err
}

// add returns the number of a term of the request.
func (l *lexicon) add(term []byte) (int64, error) {
	if l.single < 0 {
		return l.intern(term)
	}
	if err := l.open(); err != nil {
		return 0, err
	}
	ord, found, err := l.only.Lookup(term)
	if err != nil || found {
		return ord, l.r.wrap(err)
	}
	n, err := l.intern(term)
	return extra + n, err
}

// open reads the column of the only segment before that begins.
func (l *lexicon) open() (err error) {
	if l.only == nil {
		l.only, err = l.e.index.Segments[l.single].Column(l.field)
	}
	return l.r.wrap(err)
}

func (l *lexicon) intern(term []byte) (int64, error) {
	if n, ok := l.ids[string(term)]; ok {
		return n, nil
	}
	const mapBytes = 64
	if err := l.e.budget.take(l.r, mapBytes+len(term)); err != nil {
		return 0, err
	}
	if l.ids == nil {
		l.ids = map[string]int64{}
	}
	n := int64(len(l.terms))
	l.terms = append(l.terms, string(term))
	l.ids[l.terms[n]] = n
	return n, nil
}

func (l *lexicon) term(n int64) ([]byte, error) {
	switch {
	case l.single < 0:
		return []byte(l.terms[n]), nil
	case n >= extra:
		return []byte(l.terms[n-extra]), nil
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	term, err := l.only.Term(n)
	return term, l.r.wrap(err)
}

// compare orders numbers by their terms.
func (l *lexicon) compare(a, b int64) int {
	if a == b || l.single >= 0 && a < extra && b < extra {
		return cmp.Compare(a, b)
	}
	if l.single < 0 {
		return cmp.Compare(l.terms[a], l.terms[b])
	}
	x, _ := l.term(a) // read before, when the column was searched for the other
	y, _ := l.term(b)
	return bytes.Compare(x, y)
}
