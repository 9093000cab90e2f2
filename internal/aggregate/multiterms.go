package aggregate

import (
	"cmp"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// multiTerms counts documents by the combinations of the values of several fields.
type multiTerms struct {
	*Request
	*termsParams
	e       *env
	sources []*keys
	tuples  []table // by source: a combination of the former sources, or the parent's bucket, and a key
	counts  []int64
	within  within
	lists   [][]int64 // keys of a document
}

func parseMultiTerms(r *Request, p *params) (func(e *env) (collector, error), error) {
	t := termsParams{size: p.integer("size", defaultSize, 1, maxSize), minCount: int64(p.integer("min_doc_count", 1, 1, maxSize))}
	t.order = p.order(order{{by: byCount, desc: true}})
	p.integer("shard_size", 0, -1, maxSize)
	p.integer("shard_min_doc_count", 0, 0, maxSize)
	t.showErrors = p.boolean("show_term_doc_count_error", false)
	p.choice("collect_mode", "depth_first", "depth_first", "breadth_first")
	var sources []termsParams
	for _, raw := range p.objects("terms") {
		own, err := newParams(r, raw)
		if err != nil {
			return nil, err
		}
		s := termsParams{field: own.field(), format: own.text("format", "")}
		s.missing, s.hasMissing = own.missing()
		if err := own.done(); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	if len(sources) < 2 && p.err == nil {
		p.fail("terms", "want at least two fields: use terms for one")
	}
	return func(e *env) (collector, error) {
		m := &multiTerms{Request: r, termsParams: &t, e: e, tuples: make([]table, len(sources)), lists: make([][]int64, len(sources))}
		for _, s := range sources {
			k, err := e.keysOf(r, s.field, s.format, s.missing, s.hasMissing)
			if err != nil {
				return nil, err
			}
			m.sources = append(m.sources, k)
		}
		w, err := e.within(r)
		m.within = w
		return m, err
	}, p.err
}

func (m *multiTerms) request() *Request { return m.Request }

func (m *multiTerms) begin(segment int) error {
	for _, k := range m.sources {
		if err := k.begin(segment); err != nil {
			return err
		}
	}
	return m.within.begin(segment)
}

func (m *multiTerms) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		complete := true
		for j, k := range m.sources {
			values, err := k.of(doc)
			if err != nil {
				return err
			}
			m.lists[j] = append(m.lists[j][:0], values...)
			complete = complete && len(values) > 0
		}
		if !complete {
			continue
		}
		if err := m.combine(doc, 0, buckets[i]); err != nil {
			return err
		}
	}
	return nil
}

// combine counts all combinations that continue a tuple.
func (m *multiTerms) combine(doc base.DocID, source int, tuple uint32) error {
	if source == len(m.sources) {
		m.counts[tuple]++
		return m.within.add(doc, tuple)
	}
	for _, key := range m.lists[source] {
		n, isNew := m.tuples[source].number(tuple, key)
		if isNew {
			if source == len(m.sources)-1 {
				m.counts = append(m.counts, 0)
			}
			if err := m.e.budget.take(m.Request, tableBytes); err != nil {
				return err
			}
		}
		if err := m.combine(doc, source+1, n); err != nil {
			return err
		}
	}
	return nil
}

func (m *multiTerms) end() error { return m.within.end() }

func (m *multiTerms) finish() error {
	for i := range m.tuples {
		m.tuples[i].group()
	}
	return m.within.finish()
}

// tuple returns the keys of a combination.
func (m *multiTerms) tuple(n uint32) []int64 {
	out := make([]int64, len(m.sources))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = m.tuples[i].keys[n]
		n = m.tuples[i].parents[n]
	}
	return out
}

func (m *multiTerms) build(bucket uint32) (*Result, error) {
	var list []candidate
	total := int64(0)
	m.each(0, bucket, func(n uint32) {
		total += m.counts[n]
		if m.counts[n] >= m.minCount {
			list = append(list, candidate{number: n, key: int64(n), count: m.counts[n]})
		}
	})
	list = m.order.best(list, m.size, &m.within, func(a, b int64) int {
		x, y := m.tuple(uint32(a)), m.tuple(uint32(b))
		for i, k := range m.sources {
			if c := k.compare(x[i], y[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(a, b)
	})
	if err := m.e.budget.answer(m.Request, len(list)); err != nil {
		return nil, err
	}
	out := newResult(m.Request)
	out.SumOther, out.Buckets = total, make([]Bucket, len(list))
	for i, c := range list {
		b := &out.Buckets[i]
		out.SumOther -= c.count
		b.DocCount, b.bound, b.hasText = c.count, m.showErrors, true
		if err := m.write(b, c.number); err != nil {
			return nil, err
		}
		var err error
		if b.Aggs, err = m.within.build(c.number); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// each calls f for the combinations that continue a tuple.
func (m *multiTerms) each(source int, tuple uint32, f func(n uint32)) {
	for _, n := range m.tuples[source].of(tuple) {
		if source == len(m.sources)-1 {
			f(n)
		} else {
			m.each(source+1, n, f)
		}
	}
}

func (m *multiTerms) write(b *Bucket, n uint32) error {
	var texts []string
	b.key = []byte{'['}
	for i, key := range m.tuple(n) {
		var part Bucket
		if err := m.sources[i].write(&part, key); err != nil {
			return err
		}
		if i > 0 {
			b.key = append(b.key, ',')
		}
		switch {
		case m.sources[i].field.Type == mapping.Boolean:
			b.key = append(b.key, part.Text...)
		case part.hasText:
			b.key = appendString(b.key, part.Text)
		default:
			b.key = append(b.key, part.key...)
		}
		texts = append(texts, part.Text)
	}
	b.key = append(b.key, ']')
	b.Text = strings.Join(texts, "|")
	return nil
}
