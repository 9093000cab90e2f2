package aggregate

import (
	"cmp"
	"encoding/json"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// axis divides the values of a field into intervals, each with a key that rises with its values.
type axis interface {
	// key returns the key of a value's interval; false if values there are not wanted.
	key(v int64) (int64, bool)
	// next returns the key of the interval after another one.
	next(key int64) int64
	// between returns, approximately, the number of intervals from one key to another.
	between(from, to int64) float64
	write(b *Bucket, key int64)
	// prepare announces the bounds of values.
	prepare(lo, hi int64)
}

// histogram counts documents by interval: histogram and date_histogram.
type histogram struct {
	*Request
	*numbers
	axis     axis
	minCount int64
	order    order
	keyed    bool
	bounds   []int64 // keys from which to which there are buckets without documents, too
	table    table
	counts   []int64
	within   within
}

// histogramParams are of both.
type histogramParams struct {
	numberParams
	minCount int64
	order    order
	keyed    bool
}

func (p *params) histogram() histogramParams {
	return histogramParams{
		numberParams: p.numbers(), minCount: int64(p.integer("min_doc_count", 0, 0, maxSize)),
		order: p.order(order{{by: byKey}}), keyed: p.boolean("keyed", false),
	}
}

func (e *env) histogram(r *Request, p *histogramParams, n *numbers, a axis) (_ *histogram, err error) {
	h := &histogram{Request: r, numbers: n, axis: a, minCount: p.minCount, order: p.order, keyed: p.keyed}
	h.within, err = e.within(r)
	return h, err
}

func (h *histogram) request() *Request { return h.Request }

func (h *histogram) begin(segment int) error {
	if err := h.numbers.begin(segment); err != nil {
		return err
	}
	if h.column != nil {
		h.axis.prepare(h.column.Bounds())
	}
	return h.within.begin(segment)
}

func (h *histogram) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		values, err := h.of(doc)
		if err != nil {
			return err
		}
		last := int64(math.MinInt64)
		for j, v := range values {
			key, ok := h.axis.key(v)
			if !ok || j > 0 && key == last {
				continue
			}
			last = key
			n, err := h.number(buckets[i], key)
			if err != nil {
				return err
			}
			h.counts[n]++
			if err := h.within.add(doc, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *histogram) number(parent uint32, key int64) (uint32, error) {
	n, isNew := h.table.number(parent, key)
	if !isNew {
		return n, nil
	}
	h.counts = append(h.counts, 0)
	return n, h.e.budget.take(h.Request, tableBytes)
}

// whole reads values as a stream.
func (h *histogram) whole(_ int, words []uint64) (bool, error) {
	if len(h.within.children) > 0 || len(h.missing) > 0 || h.column != nil && h.column.MultiValued() {
		return false, nil
	}
	if h.column == nil {
		return true, nil
	}
	last, bucket := int64(0), noBucket
	return true, h.wrap(h.column.Scan(words, func(_ []base.DocID, values []int64) (err error) {
		for _, v := range values {
			key, ok := h.axis.key(v)
			if !ok {
				continue
			}
			if bucket == noBucket || key != last {
				if bucket, err = h.number(topBucket, key); err != nil {
					return err
				}
				last = key
			}
			h.counts[bucket]++
		}
		return h.e.ctx.Err()
	}))
}

func (h *histogram) end() error { return h.within.end() }

func (h *histogram) finish() error {
	h.table.group()
	return h.within.finish()
}

func (h *histogram) build(bucket uint32) (*Result, error) {
	var list []candidate
	for _, n := range h.table.of(bucket) {
		if h.counts[n] >= h.minCount {
			list = append(list, candidate{number: n, key: h.table.keys[n], count: h.counts[n]})
		}
	}
	sortCandidates(list, func(a, b *candidate) int { return cmp.Compare(a.key, b.key) })
	if h.minCount == 0 {
		var err error
		if list, err = h.filled(list); err != nil {
			return nil, err
		}
	}
	h.order.sort(list, &h.within, func(a, b int64) int {
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	return h.result(list)
}

func (h *histogram) result(list []candidate) (*Result, error) {
	if err := h.e.budget.answer(h.Request, len(list)); err != nil {
		return nil, err
	}
	out := newResult(h.Request)
	out.Keyed, out.Buckets = h.keyed, make([]Bucket, len(list))
	for i, c := range list {
		b := &out.Buckets[i]
		b.DocCount = c.count
		h.axis.write(b, c.key)
		var err error
		if b.Aggs, err = h.within.build(c.number); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// filled adds the buckets without documents to a list in the order of keys.
func (h *histogram) filled(list []candidate) ([]candidate, error) {
	var from, to int64
	switch {
	case len(list) > 0:
		from, to = list[0].key, list[len(list)-1].key
		if h.bounds != nil {
			from, to = min(from, h.bounds[0]), max(to, h.bounds[1])
		}
	case h.bounds != nil:
		from, to = h.bounds[0], h.bounds[1]
	default:
		return nil, nil
	}
	if n := h.axis.between(from, to); n > 2*float64(h.e.budget.limits.MaxBuckets) {
		return nil, h.e.budget.answer(h.Request, int(min(n, math.MaxInt32)))
	}
	var out []candidate
	at := 0
	for key := from; key <= to; {
		if at < len(list) && list[at].key <= key {
			out = append(out, list[at])
			key = h.axis.next(list[at].key)
			at++
			continue
		}
		out = append(out, candidate{number: noBucket, key: key})
		key = h.axis.next(key)
	}
	return append(out, list[at:]...), nil
}

// numberAxis has intervals of one width; keys are their numbers.
type numberAxis struct {
	of                  mapping.Type
	interval, offset    float64
	hardLeast, hardMost float64
}

func (a *numberAxis) value(key int64) float64 { return float64(float64(key)*a.interval) + a.offset }

func (a *numberAxis) number(f float64) int64 {
	const most = 1 << 62
	return int64(max(min(math.Floor((f-a.offset)/a.interval), most), -most))
}

func (a *numberAxis) key(v int64) (int64, bool) {
	key := a.number(a.of.Float64(v))
	at := a.value(key)
	return key, at >= a.hardLeast && at <= a.hardMost
}

func (a *numberAxis) next(key int64) int64           { return key + 1 }
func (a *numberAxis) between(from, to int64) float64 { return float64(to) - float64(from) + 1 }
func (a *numberAxis) prepare(int64, int64)           {}

func (a *numberAxis) write(b *Bucket, key int64) {
	b.key = appendFloat(nil, a.value(key))
	b.Text = string(b.key)
}

func parseHistogram(r *Request, p *params) (func(e *env) (collector, error), error) {
	h := p.histogram()
	a := numberAxis{interval: p.float("interval", 0), offset: p.float("offset", 0), hardLeast: math.Inf(-1), hardMost: math.Inf(1)}
	if !(a.interval > 0) && p.err == nil {
		p.fail("interval", "it is required, and must be positive")
	}
	extended, hard := p.bounds("extended_bounds"), p.bounds("hard_bounds")
	number := func(bound *string, otherwise float64, key string) float64 {
		if bound == nil {
			return otherwise
		}
		var f float64
		if json.Unmarshal([]byte(*bound), &f) != nil {
			p.fail(key, "%q is not a number", *bound)
		}
		return f
	}
	a.hardLeast, a.hardMost = number(hard.least, a.hardLeast, "hard_bounds"), number(hard.most, a.hardMost, "hard_bounds")
	least, most := number(extended.least, math.Inf(1), "extended_bounds"), number(extended.most, math.Inf(-1), "extended_bounds")
	extended.check(p, least > most)
	return func(e *env) (collector, error) {
		n, err := e.numbersOf(r, &h.numberParams)
		if err != nil {
			return nil, err
		}
		own := a
		own.of = n.field.Type
		c, err := e.histogram(r, &h, n, &own)
		if extended.given() {
			c.bounds = []int64{math.MaxInt64, math.MinInt64}
			if extended.least != nil {
				c.bounds[0] = own.number(least)
			}
			if extended.most != nil {
				c.bounds[1] = own.number(most)
			}
		}
		return c, err
	}, p.err
}

// boundsParam is {"min": …, "max": …}.
type boundsParam struct {
	key         string
	least, most *string
}

func (p *params) bounds(key string) boundsParam {
	b := boundsParam{key: key}
	raw := p.raw(key)
	if raw == nil {
		return b
	}
	list, err := members(raw)
	if err != nil {
		p.fail(key, "want an object with min and max, have %s", shortened(raw))
	}
	for _, m := range list {
		text, ok := scalarText(m.Value)
		if !ok {
			p.fail(key, "[%s] is %s: want a number or a date", m.Name, shortened(m.Value))
		}
		switch m.Name {
		case "min":
			b.least = &text
		case "max":
			b.most = &text
		default:
			p.fail(key, "unknown key [%s]: there are min and max", m.Name)
		}
	}
	return b
}

func (b *boundsParam) given() bool { return b.least != nil || b.most != nil }

func (b *boundsParam) check(p *params, wrong bool) {
	if b.least != nil && b.most != nil && wrong {
		p.fail(b.key, "min is greater than max")
	}
}
