package ao11

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/traverse"
)

// batch are queries that are intersected together.
type batch struct {
	queries  []*engine.Query
	first    []int // of the items of each query
	items    []item
	lists    []hostList // of the items, in their order
	elements int        // of the shortest lists of the items
	decoded  int        // of all lists of the items
}

// item is a query in a segment that has all of its words.
type item struct {
	query    int // in batch.queries
	segment  int
	from, to int // of batch.lists, in the order of the legs
	shortest int // elements of the shortest list
}

func (b *batch) reset() {
	clear(b.queries[:cap(b.queries)]) // keep leaves some
	clear(b.lists)
	*b = batch{queries: b.queries[:0], first: b.first[:0], items: b.items[:0], lists: b.lists[:0]}
}

// itemsOf returns the range of the items of a query.
func (b *batch) itemsOf(query int) (from, to int) {
	if query+1 < len(b.first) {
		return b.first[query], b.first[query+1]
	}
	return b.first[query], len(b.items)
}

// keep drops the queries from number n on.
func (b *batch) keep(n int) {
	if first := b.first[n]; first < len(b.items) {
		from := b.items[first].from
		clear(b.lists[from:])
		for _, it := range b.items[first:] {
			b.elements -= it.shortest
		}
		b.items, b.lists = b.items[:first], b.lists[:from]
	}
	b.queries, b.first = b.queries[:n], b.first[:n]
}

// listsOf returns the lists of an item.
func (b *batch) listsOf(it *item) []hostList { return b.lists[it.from:it.to] }

// queryError is an error of one query of a batch: not of the device, nor of other queries.
type queryError struct {
	query int // in batch.queries
	err   error
}

func (e *queryError) Error() string { return e.err.Error() }

func (e *queryError) Unwrap() error { return e.err }

// itemError returns err with the item's segment and query.
func (b *batch) itemError(it *item, err error) error {
	p := b.queries[it.query].Plan
	return fmt.Errorf("segment %s: query %s: %w", p.Snapshot().Segments[it.segment].Name, p.Query(), err)
}

// errorOf makes an error of the work on an item a queryError, unless it is the device's.
func (b *batch) errorOf(it *item, err error) error {
	if err == nil || ofDevice(err) {
		return err
	}
	return &queryError{it.query, b.itemError(it, err)}
}

// itemWith returns the item that has a list.
func (b *batch) itemWith(list int) *item {
	i := 0
	for b.items[i].to <= list {
		i++
	}
	return &b.items[i]
}

// add adds a query. After an error, which is the context's or wraps base.ErrCorrupt if a list is damaged, it is not
// in b.
func (b *batch) add(ctx context.Context, f *form, q *engine.Query) error {
	stage := q.Plan.Stage(0)
	before := *b
	b.first = append(b.first, len(b.items))
	b.queries = append(b.queries, q)
	if stage.IsEmpty() {
		return nil
	}
	for segment := range q.Plan.Snapshot().Segments {
		if err := b.addSegment(ctx, f, q.Plan, stage.Legs(segment), segment); err != nil {
			clear(b.lists[len(before.lists):])
			*b = before
			return err
		}
	}
	return nil
}

// addSegment adds the lists of a query in a segment, unless one is missing.
func (b *batch) addSegment(ctx context.Context, f *form, p *plan.Plan, legs []traverse.Leg, segment int) error {
	for i := range legs {
		if legs[i].DocFreq() == 0 {
			return nil
		}
	}
	view := &p.Snapshot().Segments[segment]
	it := item{query: len(b.queries) - 1, segment: segment, from: len(b.lists)}
	for i := range legs {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := f.listOf(&legs[i], view.NumDocs())
		if err != nil {
			return b.itemError(&it, fmt.Errorf("leg %d: %w", i, err))
		}
		b.lists = append(b.lists, l)
		b.decoded += l.NumPostings
		if i == 0 || l.NumPostings < it.shortest {
			it.shortest = l.NumPostings
		}
	}
	b.elements += it.shortest
	it.to = len(b.lists)
	b.items = append(b.items, it)
	return nil
}

// check refuses plans that are not conjunctions of words.
func check(p *plan.Plan) error {
	what := ""
	switch stage := p.Stage(0); {
	case p.Mode() != plan.ModeAnd:
		what = "it is in mode " + p.Mode().String()
	case stage.IsEmpty():
	case !stage.IsFlat():
		what = "it has phrases or nested clauses"
	case stage.Excludes():
		what = "it excludes words or has filters"
	case stage.Kind() != traverse.And && !oneWord(p):
		what = "its words are alternatives"
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("query %s: engine ao11 answers conjunctions of words, but %s: %w", p.Query(), what, base.ErrBadInput)
}

// oneWord reports whether a flat stage has one leg, in an index that is not empty.
func oneWord(p *plan.Plan) bool {
	return len(p.Snapshot().Segments) == 0 || len(p.Stage(0).Legs(0)) == 1
}
