package plan

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/query"
)

// termsSet compiles a TermsSet: any of the terms, among the documents that have enough of them.
func termsSet(c *compiler, n *query.TermsSet, boost float64) (node, error) {
	f, err := c.searchable(n.Field)
	if err != nil {
		return nil, err
	}
	if f != nil && f.Type != mapping.Keyword {
		return nil, fmt.Errorf("terms_set: field %q is of type %s: want a keyword or a text: %w", n.Field, f.Type, base.ErrBadInput)
	}
	numbers, err := numbersOf(c, n.AtLeast, "terms_set")
	if err != nil {
		return nil, err
	}
	id, err := c.field(n.Field)
	if err != nil || len(n.Values) == 0 {
		return nothing(), err
	}
	values := slices.Clone(n.Values)
	some := c.memory.group(len(values))
	for i := range values {
		values[i] = c.analyzers.normal(f, values[i])
		term, err := c.exact(n.Field, values[i], boost)
		if err != nil {
			return nil, err
		}
		some.optional = append(some.optional, term)
	}
	slices.Sort(values)
	s := &coverSource{field: id, numbers: numbers}
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			s.terms[len(s.terms)-1].count++
			continue
		}
		s.terms = append(s.terms, coverTerm{[]byte(v), 1})
	}
	g := c.memory.group(2)
	key := setKey("cover", id, append([]string{numbers.Name}, values...)...)
	g.required = append(g.required, some.simplify(), wrapSet(key, n.String(), s, 0))
	return g.simplify(), nil
}

// coverSource is the source of the documents with at least a number of terms, which the document states.
type coverSource struct {
	field   base.FieldID
	terms   []coverTerm
	numbers *mapping.Field
}

// coverTerm counts the times that a query has a term.
type coverTerm struct {
	term  []byte
	count uint32
}

var _ source = (*coverSource)(nil)

// coverWindow is the number of documents whose terms are counted at once.
const coverWindow = 1 << 15

func (s *coverSource) mark(m *matcher, words []uint64) error {
	numbers, err := cursorOf(m, s.numbers.Name)
	if err != nil || numbers.cursor == nil {
		return err
	}
	view := m.view()
	lists := make([]coverList, 0, len(s.terms))
	for _, t := range s.terms {
		l := coverList{list: new(postings.List), count: t.count}
		found, err := view.Find(s.field, t.term, l.list)
		if err != nil {
			return err
		}
		if found {
			l.cursor = new(postings.Cursor)
			l.cursor.Reset(l.list, nil)
			l.doc = l.cursor.NextGEQ(0)
			lists = append(lists, l)
		}
	}
	counts := make([]uint32, min(coverWindow, view.NumDocs()))
	for from := 0; from < view.NumDocs() && len(lists) > 0; from += coverWindow {
		if err := m.stop.Err(); err != nil {
			return err
		}
		clear(counts)
		for i := range lists {
			if err := lists[i].add(counts, base.DocID(from)); err != nil {
				return err
			}
		}
		for i, n := range counts {
			if n == 0 {
				continue
			}
			doc := base.DocID(from + i)
			v, ok, err := numbers.value(doc)
			if err != nil {
				return err
			}
			if ok && s.numbers.Type.Float64(v) < float64(n)+1 {
				words[doc/64] |= 1 << (doc % 64)
			}
		}
	}
	for i := range lists {
		m.countWork(lists[i].cursor)
	}
	return nil
}

// coverList is the list of a term. doc is its next document.
type coverList struct {
	list   *postings.List
	cursor *postings.Cursor
	count  uint32
	doc    base.DocID
}

// add adds to the counts of a window of documents.
func (l *coverList) add(counts []uint32, from base.DocID) error {
	end := from + base.DocID(len(counts))
	for l.doc < end {
		counts[l.doc-from] += l.count
		l.doc = l.cursor.NextGEQ(l.doc + 1)
	}
	return l.cursor.Err()
}

func (s *coverSource) cost(ws *words, segment int) int {
	return len(s.terms)*termCost + numValues(ws, segment, s.numbers.Name)
}
