package plan

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/index"
)

// Sources over columns. A segment that was written before a field was declared has no column of it, and no
// document.

// Costs of columns, in units of about a nanosecond (docs/benchmarks/columns.md).
const (
	valuesPerCost = 2  // values that a range tests in that time
	testCost      = 40 // the value of one document
)

// A tester is a source that can test single documents, of rising numbers.
type tester interface {
	source
	// test returns nil if no document of the segment matches. The test reports false after an error.
	test(view *index.View) (test func(doc base.DocID) (bool, error), err error)
}

var (
	_ tester = (*columnRange)(nil)
	_ tester = (*columnValues)(nil)
	_ tester = (*ordinalRange)(nil)
)

func (m *matcher) column(name string) (*column.Column, bool, error) { return m.view().Column(name) }

// numValues is 0 if the segment has no such column.
func numValues(ws *words, segment int, name string) int {
	c, ok, err := ws.planner.snapshot.Segments[segment].Column(name)
	if err != nil || !ok {
		return 0
	}
	return c.NumValues()
}

// columnRange is the source of the documents with a number from lo to hi.
type columnRange struct {
	name   string
	lo, hi int64
}

func (s *columnRange) mark(m *matcher, words []uint64) error {
	c, ok, err := m.column(s.name)
	if err != nil || !ok {
		return err
	}
	return c.Range(s.lo, s.hi, words)
}

func (s *columnRange) cost(ws *words, segment int) int {
	return numValues(ws, segment, s.name) / valuesPerCost
}

func (s *columnRange) test(view *index.View) (func(doc base.DocID) (bool, error), error) {
	c, ok, err := view.Column(s.name)
	if err != nil || !ok {
		return nil, err
	}
	return testRange(c, s.lo, s.hi), nil
}

func testRange(c *column.Column, lo, hi int64) func(doc base.DocID) (bool, error) {
	cursor := c.Cursor()
	return func(doc base.DocID) (bool, error) {
		values, err := cursor.Values(doc)
		for _, v := range values {
			if v >= lo && v <= hi {
				return true, nil
			}
		}
		return false, err
	}
}

// columnValues is the source of the documents with one of the numbers.
type columnValues struct {
	name   string
	values []int64 // rising
}

func (s *columnValues) mark(m *matcher, words []uint64) error {
	c, ok, err := m.column(s.name)
	if err != nil || !ok {
		return err
	}
	return c.Set(s.values, words)
}

func (s *columnValues) cost(ws *words, segment int) int {
	return numValues(ws, segment, s.name)/valuesPerCost + len(s.values)
}

func (s *columnValues) test(view *index.View) (func(doc base.DocID) (bool, error), error) {
	c, ok, err := view.Column(s.name)
	if err != nil || !ok {
		return nil, err
	}
	wanted := make(map[int64]bool, len(s.values))
	for _, v := range s.values {
		wanted[v] = true
	}
	cursor := c.Cursor()
	return func(doc base.DocID) (bool, error) {
		values, err := cursor.Values(doc)
		for _, v := range values {
			if wanted[v] {
				return true, nil
			}
		}
		return false, err
	}, nil
}

// ordinalRange is the source of the documents with a byte string between two others; nil is no bound.
type ordinalRange struct {
	name                   string
	from, to               []byte
	excludeFrom, excludeTo bool
}

func (s *ordinalRange) bounds(c *column.Column) (lo, hi int64, err error) {
	lo, hi = 0, math.MaxInt64
	if s.from != nil {
		var found bool
		if lo, found, err = c.Lookup(s.from); err != nil {
			return 0, 0, err
		}
		if found && s.excludeFrom {
			lo++
		}
	}
	if s.to != nil {
		var found bool
		if hi, found, err = c.Lookup(s.to); err != nil {
			return 0, 0, err
		}
		if !found || s.excludeTo {
			hi--
		}
	}
	return lo, hi, nil
}

func (s *ordinalRange) mark(m *matcher, words []uint64) error {
	c, ok, err := m.column(s.name)
	if err != nil || !ok {
		return err
	}
	lo, hi, err := s.bounds(c)
	if err != nil {
		return err
	}
	return c.Range(lo, hi, words)
}

func (s *ordinalRange) cost(ws *words, segment int) int {
	return numValues(ws, segment, s.name) / valuesPerCost
}

func (s *ordinalRange) test(view *index.View) (func(doc base.DocID) (bool, error), error) {
	c, ok, err := view.Column(s.name)
	if err != nil || !ok {
		return nil, err
	}
	lo, hi, err := s.bounds(c)
	if err != nil || lo > hi {
		return nil, err
	}
	return testRange(c, lo, hi), nil
}

// columnExists is the source of the documents with a value.
type columnExists struct{ name string }

var _ source = columnExists{}

func (s columnExists) mark(m *matcher, words []uint64) error {
	c, ok, err := m.column(s.name)
	if err != nil || !ok {
		return err
	}
	return c.Exists(words)
}

func (s columnExists) cost(ws *words, segment int) int { return ws.numDocs(segment) / maskDocsPerCost }

// union is the source of the documents of any of several sources.
type union []source

var _ source = union(nil)

func (u union) mark(m *matcher, words []uint64) error {
	for _, s := range u {
		if err := s.mark(m, words); err != nil {
			return err
		}
	}
	return nil
}

func (u union) cost(ws *words, segment int) (sum int) {
	for _, s := range u {
		sum += s.cost(ws, segment)
	}
	return sum
}

// simple returns nil for no source, and a single one as it is.
func (u union) simple() source {
	switch len(u) {
	case 0:
		return nil
	case 1:
		return u[0]
	}
	return u
}

// testedIterator yields the documents of an iterator that pass tests, with their scores and the scores of the
// tests.
type testedIterator struct {
	iterator
	tests []func(doc base.DocID) (bool, error)
	score base.Score // sum of the tests
	pulse *pulse
}

var _ pruner = (*testedIterator)(nil)

func (t *testedIterator) Score() base.Score    { return t.iterator.Score() + t.score }
func (t *testedIterator) MaxScore() base.Score { return t.iterator.MaxScore() + t.score }

func (t *testedIterator) NextGEQ(target base.DocID) base.DocID {
	if doc := t.DocID(); doc != base.NoDocID && doc >= target {
		return doc // it has passed
	}
	for {
		doc := t.iterator.NextGEQ(target)
		if doc == base.NoDocID || t.passes(doc) {
			return doc
		}
		if t.pulse.stopped() {
			return t.iterator.NextGEQ(base.NoDocID)
		}
		target = doc + 1
	}
}

func (t *testedIterator) passes(doc base.DocID) bool {
	for _, test := range t.tests {
		ok, err := test(doc)
		if err != nil {
			t.pulse.fail(err)
		}
		if !ok {
			return false
		}
	}
	return true
}

// SetNeed: the tests add their score to every document.
func (t *testedIterator) SetNeed(need base.Score) { setNeed(t.iterator, need, t.score) }

// testable returns the tester of a node, nil if it has none.
func testable(n node) tester {
	c, ok := n.(*constant)
	if !ok {
		return nil
	}
	s, ok := c.child.(*set)
	if !ok {
		return nil
	}
	t, _ := s.source.(tester)
	return t
}

// tested splits off the nodes of a conjunction whose documents are cheaper to test one by one than to compute
// all: the other nodes have few.
func (b *treeBuilder) tested(nodes []node) (rest, tested []node) {
	least := int(base.MaxDocs)
	for _, n := range nodes {
		if testable(n) == nil {
			least = min(least, b.matcher.docFreq(n))
		}
	}
	rest = nodes
	for i, n := range nodes {
		t := testable(n)
		test := t != nil && t.cost(b.words, b.segment) > least*testCost && !b.matcher.isCached(n.(*constant).child)
		if test && len(tested) == 0 {
			rest = append(make([]node, 0, len(nodes)), nodes[:i]...)
		}
		switch {
		case test:
			tested = append(tested, n)
		case len(tested) > 0:
			rest = append(rest, n)
		}
	}
	return rest, tested
}

// withTests returns it with the tests of nodes, nil if no document can pass.
func (b *treeBuilder) withTests(it iterator, nodes []node) (iterator, error) {
	t := &testedIterator{iterator: it, pulse: b.pulse}
	for _, n := range nodes {
		test, err := testable(n).test(b.matcher.view())
		if err != nil || test == nil {
			return nil, err
		}
		t.tests = append(t.tests, test)
		t.score += n.(*constant).score
	}
	return t, nil
}
