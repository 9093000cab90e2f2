package aggregate

import (
	"encoding/json"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// one has one bucket for each of the parent's: filter, missing and global.
type one struct {
	*Request
	e      *env
	accept func(segment int) (words []uint64, err error)
	words  []uint64 // of the segment
	counts counts
	within within
}

func (o *one) request() *Request { return o.Request }

func parseFilter(r *Request, p *params) (func(e *env) (collector, error), error) {
	raw := p.whole()
	return func(e *env) (collector, error) {
		words, err := e.filter(r, raw)
		if err != nil {
			return nil, err
		}
		return e.one(r, func(segment int) ([]uint64, error) { return words[segment], nil })
	}, p.err
}

// whole returns all parameters as an object: a query.
func (p *params) whole() json.RawMessage {
	out := []byte{'{'}
	for i, m := range p.list {
		p.used[i] = true
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(appendString(out, m.Name), ':'), m.Value...)
	}
	return append(out, '}')
}

// filter returns the live documents of a query, one bitmap a segment.
func (e *env) filter(r *Request, query json.RawMessage) ([][]uint64, error) {
	words, err := e.index.Filter(e.ctx, query)
	return words, r.wrap(err)
}

func (e *env) one(r *Request, accept func(segment int) ([]uint64, error)) (*one, error) {
	w, err := e.within(r)
	return &one{Request: r, e: e, accept: accept, within: w}, err
}

func parseMissing(r *Request, p *params) (func(e *env) (collector, error), error) {
	name := p.field()
	missing, hasMissing := p.missing()
	return func(e *env) (collector, error) {
		f, err := e.fieldOf(r, name)
		if err != nil {
			return nil, err
		}
		if hasMissing { // then no document is without a value
			if err := f.Check(missing); err != nil {
				return nil, r.errorf("parameter [missing]: %s", base.Message(err))
			}
		}
		return e.one(r, func(segment int) ([]uint64, error) {
			s := &e.index.Segments[segment]
			words := make([]uint64, (s.NumDocs+63)/64)
			if hasMissing {
				return words, nil
			}
			column, err := s.Column(name)
			if err == nil && column != nil {
				err = column.Exists(words)
			}
			for i := range words {
				words[i] = ^words[i]
			}
			return words, r.wrap(err)
		})
	}, p.err
}

func (o *one) begin(segment int) (err error) {
	if o.words, err = o.accept(segment); err != nil {
		return err
	}
	return o.within.begin(segment)
}

func (o *one) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		if !has(o.words, doc) {
			continue
		}
		if err := o.e.count(o.Request, &o.counts, buckets[i], 1); err != nil {
			return err
		}
		if err := o.within.add(doc, buckets[i]); err != nil {
			return err
		}
	}
	return nil
}

// whole counts bits.
func (o *one) whole(_ int, words []uint64) (bool, error) {
	if len(o.within.children) > 0 {
		return false, nil
	}
	if err := o.e.ctx.Err(); err != nil {
		return false, err
	}
	n := int64(0)
	for i, w := range words {
		n += ones([]uint64{w & o.words[i]})
	}
	return true, o.e.count(o.Request, &o.counts, topBucket, n)
}

func (o *one) end() error                { return o.within.end() }
func (o *one) finish() error             { return o.within.finish() }
func (o *one) count(bucket uint32) int64 { return o.counts.of(bucket) }
func (o *one) inside() *within           { return &o.within }

func (o *one) build(bucket uint32) (_ *Result, err error) {
	if err := o.e.budget.answer(o.Request, 1); err != nil {
		return nil, err
	}
	out := newResult(o.Request)
	out.DocCount = o.count(bucket)
	out.Aggs, err = o.within.build(bucket)
	return out, err
}

// global has all live documents of the index, whatever the query matches.
type global struct{ one }

func parseGlobal(r *Request, p *params) (func(e *env) (collector, error), error) {
	return func(e *env) (collector, error) {
		o, err := e.one(r, func(int) ([]uint64, error) { return nil, nil })
		if err != nil {
			return nil, err
		}
		return &global{*o}, nil
	}, p.err
}

// whole evaluates the inner aggregations over the live documents.
func (g *global) whole(segment int, _ []uint64) (bool, error) {
	live := g.e.index.Segments[segment].live()
	if err := g.e.count(g.Request, &g.counts, topBucket, ones(live)); err != nil {
		return false, err
	}
	return true, g.e.batches(g.within.children, live)
}

// filters has a bucket for each of several queries.
type filters struct {
	*Request
	*filtersParams
	e      *env
	words  [][][]uint64 // by filter and segment
	now    [][]uint64   // of the segment
	counts counts       // by the parent's bucket times the number of buckets, plus the filter
	within within
}

type filtersParams struct {
	names    []string // nil: anonymous
	queries  []json.RawMessage
	other    string // key of the documents of no filter; "": they have no bucket
	hasOther bool
	keyed    bool
}

func parseFilters(r *Request, p *params) (func(e *env) (collector, error), error) {
	var f filtersParams
	raw := p.raw("filters")
	if list, err := members(raw); err == nil {
		for _, m := range list {
			f.names, f.queries = append(f.names, m.Name), append(f.queries, m.Value)
		}
	} else if f.queries, err = base.Elements(raw); err != nil {
		p.fail("filters", "want an object or a list of queries, have %s", shortened(raw))
	}
	if len(f.queries) == 0 {
		p.fail("filters", "there are none")
	}
	f.hasOther = p.boolean("other_bucket", p.has("other_bucket_key"))
	f.other = p.text("other_bucket_key", "_other_")
	f.keyed = p.boolean("keyed", true) && f.names != nil
	return func(e *env) (collector, error) {
		c := &filters{Request: r, filtersParams: &f, e: e}
		for i, q := range f.queries {
			words, err := e.filter(r, q)
			if err != nil {
				if f.names != nil {
					return nil, fmt.Errorf("filter [%s]: %w", f.names[i], err)
				}
				return nil, fmt.Errorf("filter %d: %w", i, err)
			}
			c.words = append(c.words, words)
		}
		c.now = make([][]uint64, len(c.words))
		w, err := e.within(r)
		c.within = w
		return c, err
	}, p.err
}

func (f *filters) request() *Request { return f.Request }

func (f *filters) begin(segment int) error {
	for i := range f.words {
		f.now[i] = f.words[i][segment]
	}
	return f.within.begin(segment)
}

// size is the number of buckets.
func (f *filters) size() int {
	if f.hasOther {
		return len(f.queries) + 1
	}
	return len(f.queries)
}

func (f *filters) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		first, err := f.e.inner(f.Request, buckets[i], f.size(), 0)
		if err != nil {
			return err
		}
		matched := false
		for j, words := range f.now {
			if has(words, doc) {
				matched = true
				if err := f.place(doc, first+uint32(j)); err != nil {
					return err
				}
			}
		}
		if !matched && f.hasOther {
			if err := f.place(doc, first+uint32(len(f.now))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *filters) place(doc base.DocID, bucket uint32) error {
	if err := f.e.count(f.Request, &f.counts, bucket, 1); err != nil {
		return err
	}
	return f.within.add(doc, bucket)
}

func (f *filters) end() error    { return f.within.end() }
func (f *filters) finish() error { return f.within.finish() }

func (f *filters) build(bucket uint32) (*Result, error) {
	if err := f.e.budget.answer(f.Request, f.size()); err != nil {
		return nil, err
	}
	out := newResult(f.Request)
	out.Keyed, out.Buckets = f.keyed, make([]Bucket, f.size())
	for i := range out.Buckets {
		n, err := f.e.inner(f.Request, bucket, f.size(), i)
		if err != nil {
			return nil, err
		}
		b := &out.Buckets[i]
		b.DocCount = f.counts.of(n)
		if f.names != nil {
			b.Text = f.other
			if i < len(f.names) {
				b.Text = f.names[i]
			}
			if !f.keyed {
				b.key = appendString(nil, b.Text)
			}
		}
		if b.Aggs, err = f.within.build(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}
