package aggregate

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// ranges counts documents with a value in each of several ranges: range and date_range. Lower bounds are
// inclusive, upper ones exclusive.
type ranges struct {
	*Request
	*numbers
	list   []valueRange
	keyed  bool
	zone   *time.Location // of date_range
	counts counts         // by the parent's bucket times the number of ranges, plus the range
	within within
}

type valueRange struct {
	key      string
	from, to float64 // infinite: there is none
	// Of date_range:
	dateFrom, dateTo int64
}

// rangeParam is a range of a request.
type rangeParam struct {
	key      string
	from, to *string
	quoted   bool // a bound is a string
}

type rangesParams struct {
	numberParams
	list  []rangeParam
	keyed bool
}

func (p *params) ranges() rangesParams {
	out := rangesParams{numberParams: p.numbers(), keyed: p.boolean("keyed", false)}
	for _, raw := range p.objects("ranges") {
		list, err := members(raw)
		if err != nil {
			p.fail("ranges", "want objects with from and to, have %s", shortened(raw))
		}
		var one rangeParam
		for _, m := range list {
			text, ok := scalarText(m.Value)
			if !ok && string(m.Value) != "null" {
				p.fail("ranges", "[%s] is %s: want a number, a string or null", m.Name, shortened(m.Value))
			}
			switch {
			case m.Name == "key":
				one.key = text
			case m.Name != "from" && m.Name != "to":
				p.fail("ranges", "unknown key [%s]: there are key, from and to", m.Name)
			case !ok:
			case m.Name == "from":
				one.from, one.quoted = &text, one.quoted || m.Value[0] == '"'
			default:
				one.to, one.quoted = &text, one.quoted || m.Value[0] == '"'
			}
		}
		out.list = append(out.list, one)
	}
	return out
}

func parseRange(r *Request, p *params) (func(e *env) (collector, error), error) {
	o := p.ranges()
	var list []valueRange
	for _, one := range o.list {
		v := valueRange{key: one.key, from: math.Inf(-1), to: math.Inf(1)}
		for _, bound := range []struct {
			text *string
			to   *float64
		}{{one.from, &v.from}, {one.to, &v.to}} {
			if bound.text != nil && json.Unmarshal([]byte(*bound.text), bound.to) != nil {
				p.fail("ranges", "%q is not a number", *bound.text)
			}
		}
		if v.key == "" {
			v.key = boundText(v.from) + "-" + boundText(v.to)
		}
		list = append(list, v)
	}
	base.SortStable(list, func(a, b valueRange) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return func(e *env) (collector, error) {
		n, err := e.numbersOf(r, &o.numberParams)
		if err != nil {
			return nil, err
		}
		if n.field.Type == mapping.Date && slices.ContainsFunc(o.list, func(one rangeParam) bool { return one.quoted }) {
			return nil, r.errorf("parameter [ranges]: bounds of field [%s] that are dates need the type [date_range]", n.field.Name)
		}
		c := &ranges{Request: r, numbers: n, list: list, keyed: o.keyed}
		c.within, err = e.within(r)
		return c, err
	}, p.err
}

func boundText(v float64) string {
	if math.IsInf(v, 0) {
		return "*"
	}
	return string(appendFloat(nil, v))
}

func parseDateRange(r *Request, p *params) (func(e *env) (collector, error), error) {
	zone := p.zone()
	o := p.ranges()
	return func(e *env) (collector, error) {
		n, err := e.dates(r, &o.numberParams)
		if err != nil {
			return nil, err
		}
		c := &ranges{Request: r, numbers: n, keyed: o.keyed, zone: zone}
		for _, one := range o.list {
			v, err := c.dateRange(one)
			if err != nil {
				return nil, err
			}
			c.list = append(c.list, v)
		}
		base.SortStable(c.list, func(a, b valueRange) int {
			return cmp.Or(cmp.Compare(a.dateFrom, b.dateFrom), cmp.Compare(a.dateTo, b.dateTo))
		})
		c.within, err = e.within(r)
		return c, err
	}, p.err
}

func (c *ranges) dateRange(one rangeParam) (valueRange, error) {
	v := valueRange{key: one.key, dateFrom: math.MinInt64, dateTo: math.MaxInt64, from: math.Inf(-1), to: math.Inf(1)}
	texts := [2]string{"*", "*"}
	for i, text := range []*string{one.from, one.to} {
		if text == nil {
			continue
		}
		at, err := c.e.number(c.layout, *text, c.zone)
		if err != nil {
			return v, c.errorf("parameter [ranges]: %s", base.Message(err))
		}
		texts[i] = c.dateText(at)
		if i == 0 {
			v.dateFrom, v.from = at, float64(at)
		} else {
			v.dateTo, v.to = at, float64(at)
		}
	}
	if v.key == "" {
		v.key = texts[0] + "-" + texts[1]
	}
	return v, nil
}

func (c *ranges) dateText(at int64) string { return string(c.layout.AppendDate(nil, at, c.zone)) }

func (c *ranges) request() *Request { return c.Request }

func (c *ranges) begin(segment int) error {
	if err := c.numbers.begin(segment); err != nil {
		return err
	}
	return c.within.begin(segment)
}

func (c *ranges) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		values, err := c.of(doc)
		if err != nil {
			return err
		}
		for j := range c.list {
			if !c.list[j].has(values, c.field.Type, c.zone != nil) {
				continue
			}
			bucket, err := c.e.inner(c.Request, buckets[i], len(c.list), j)
			if err != nil {
				return err
			}
			if err := c.e.count(c.Request, &c.counts, bucket, 1); err != nil {
				return err
			}
			if err := c.within.add(doc, bucket); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *valueRange) has(values []int64, t mapping.Type, dates bool) bool {
	for _, v := range values {
		if dates {
			if v >= r.dateFrom && v < r.dateTo {
				return true
			}
			continue
		}
		if f := t.Float64(v); f >= r.from && (f < r.to || math.IsInf(r.to, 1)) {
			return true
		}
	}
	return false
}

func (c *ranges) end() error    { return c.within.end() }
func (c *ranges) finish() error { return c.within.finish() }

func (c *ranges) build(bucket uint32) (*Result, error) {
	if err := c.e.budget.answer(c.Request, len(c.list)); err != nil {
		return nil, err
	}
	out := newResult(c.Request)
	out.Keyed, out.Buckets = c.keyed, make([]Bucket, len(c.list))
	for i := range c.list {
		r, b := &c.list[i], &out.Buckets[i]
		n, err := c.e.inner(c.Request, bucket, len(c.list), i)
		if err != nil {
			return nil, err
		}
		b.Text, b.key, b.DocCount = r.key, appendString(nil, r.key), c.counts.of(n)
		b.Values = []Value{{Name: "from", Value: r.from, None: math.IsInf(r.from, 0)}, {Name: "to", Value: r.to, None: math.IsInf(r.to, 0)}}
		if c.zone != nil {
			b.Values[0].Text, b.Values[1].Text = c.dateText(r.dateFrom), c.dateText(r.dateTo)
		}
		if b.Aggs, err = c.within.build(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}
