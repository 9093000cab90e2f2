package aggregate

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// composite pages through the combinations of the keys of several sources, in their order.
type composite struct {
	*Request
	e       *env
	size    int
	sources []compositeSource
	after   []compositeKey // nil: from the first
	// tuples are as in multiTerms; noValue in a parent marks a document without a value.
	tuples []table
	counts []int64
	before []bool // the combination is not after "after"
	within within
}

// noValue is added to a parent. Numbers of combinations are below.
const noValue = uint32(1) << 31

// compositeSource gives each document keys. One of keys and axis is set.
type compositeSource struct {
	name          string
	desc          bool
	missing       bool // documents without a value have a bucket
	missingFirst  bool
	keys          *keys
	numbers       *numbers
	axis          axis
	asText        bool // dates are written in their format
	list          []compositeKey
	numberOfAfter func(text string) (int64, error)
}

type compositeKey struct {
	key  int64
	none bool
}

// sourceParam is a source of a request.
type sourceParam struct {
	name, kind, field, format   string
	desc, missing, missingFirst bool
	numbers                     *numberAxis
	rounding                    func() rounding
	zone                        *params
	offset                      int64
}

const maxCompositeSources = 64

func parseComposite(r *Request, p *params) (func(e *env) (collector, error), error) {
	size := p.integer("size", defaultSize, 1, DefaultMaxBuckets)
	var sources []sourceParam
	for _, raw := range p.objects("sources") {
		s, err := parseSource(r, raw)
		if err != nil {
			return nil, err
		}
		for _, o := range sources {
			if o.name == s.name {
				p.fail("sources", "there are two sources [%s]", s.name)
			}
		}
		sources = append(sources, s)
	}
	if len(sources) > maxCompositeSources {
		p.fail("sources", "there are more than %d", maxCompositeSources)
	}
	after := p.raw("after")
	return func(e *env) (collector, error) {
		c := &composite{Request: r, e: e, size: size, tuples: make([]table, len(sources))}
		for i := range sources {
			s, err := e.source(r, &sources[i])
			if err != nil {
				return nil, err
			}
			c.sources = append(c.sources, s)
		}
		if after != nil {
			if err := c.readAfter(after); err != nil {
				return nil, err
			}
		}
		w, err := e.within(r)
		c.within = w
		return c, err
	}, p.err
}

func parseSource(r *Request, raw json.RawMessage) (s sourceParam, err error) {
	list, err := members(raw)
	if err != nil || len(list) != 1 {
		return s, r.errorIn(raw, "parameter [sources]: want objects with one name, have %d: %s", len(list), namesOf(list))
	}
	s.name = list[0].Name
	kind, err := members(list[0].Value)
	if err != nil || len(kind) != 1 {
		return s, r.errorIn(list[0].Value, "source [%s]: want an object with one type, have %d: %s", s.name, len(kind), namesOf(kind))
	}
	p, err := newParams(r, kind[0].Value)
	if err != nil {
		return s, err
	}
	s.kind, s.field, s.format = kind[0].Name, p.field(), p.text("format", "")
	s.desc = p.choice("order", "asc", "asc", "desc") == "desc"
	s.missing = p.boolean("missing_bucket", false)
	switch p.choice("missing_order", "default", "default", "first", "last") {
	case "default":
		s.missingFirst = !s.desc
	case "first":
		s.missingFirst = true
	}
	switch s.kind {
	case "terms":
	case "histogram":
		s.numbers = &numberAxis{interval: p.float("interval", 0), hardLeast: math.Inf(-1), hardMost: math.Inf(1)}
		if !(s.numbers.interval > 0) {
			p.fail("interval", "it is required, and must be positive")
		}
	case "date_histogram":
		s.zone = p
		zone := p.zone()
		s.rounding = p.interval(zone)
		s.offset = p.timeOffset()
	default:
		return s, r.errorIn(kind[0].Value, "source [%s]: unknown type [%s]: there are terms, histogram and date_histogram", s.name, s.kind)
	}
	return s, p.done()
}

func namesOf(list []base.Member) string {
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	return shortened([]byte(strings.Join(names, ", ")))
}

func (e *env) source(r *Request, p *sourceParam) (compositeSource, error) {
	s := compositeSource{name: p.name, desc: p.desc, missing: p.missing, missingFirst: p.missingFirst, asText: p.format != ""}
	number := numberParams{field: p.field, format: p.format}
	var err error
	switch p.kind {
	case "terms":
		s.keys, err = e.keysOf(r, p.field, p.format, "", false)
		if err == nil {
			s.numberOfAfter = s.keys.parse
		}
	case "histogram":
		if s.numbers, err = e.numbersOf(r, &number); err == nil {
			own := *p.numbers
			own.of = s.numbers.field.Type
			s.axis = &own
			s.numberOfAfter = func(text string) (int64, error) {
				var f float64
				err := json.Unmarshal([]byte(text), &f)
				return int64(math.Round(f / own.interval)), err
			}
		}
	default:
		if s.numbers, err = e.dates(r, &number); err == nil {
			zone := p.zone.zone()
			a := &dateAxis{rounding: p.rounding(), offset: p.offset, hardLeast: math.MinInt64, hardMost: math.MaxInt64, layout: s.numbers.layout, zone: zone}
			s.axis = a
			s.numberOfAfter = func(text string) (int64, error) { return e.number(s.numbers.layout, text, zone) }
		}
	}
	return s, err
}

// readAfter reads the key of the last bucket of the former page.
func (c *composite) readAfter(raw json.RawMessage) error {
	list, err := members(raw)
	if err != nil || len(list) != len(c.sources) {
		return c.errorf("parameter [after]: want an object with the names of all sources, have %s", shortened(raw))
	}
	c.after = make([]compositeKey, len(c.sources))
	for i := range c.sources {
		s := &c.sources[i]
		at := -1
		for j, m := range list {
			if m.Name == s.name {
				at = j
			}
		}
		if at < 0 {
			return c.errorf("parameter [after]: it has no key for source [%s]", s.name)
		}
		if string(list[at].Value) == "null" {
			if !s.missing {
				return c.errorf("parameter [after]: [%s] is null, but has no [missing_bucket]", s.name)
			}
			c.after[i].none = true
			continue
		}
		text, ok := scalarText(list[at].Value)
		if !ok {
			return c.errorf("parameter [after]: [%s] is %s", s.name, shortened(list[at].Value))
		}
		if c.after[i].key, err = s.numberOfAfter(text); err != nil {
			return c.errorf("parameter [after]: [%s]: %s", s.name, base.Message(err))
		}
	}
	return nil
}

func (c *composite) request() *Request { return c.Request }

func (c *composite) begin(segment int) error {
	for i := range c.sources {
		s := &c.sources[i]
		var err error
		if s.keys != nil {
			err = s.keys.begin(segment)
		} else if err = s.numbers.begin(segment); err == nil && s.numbers.column != nil {
			s.axis.prepare(s.numbers.column.Bounds())
		}
		if err != nil {
			return err
		}
	}
	return c.within.begin(segment)
}

// read sets the keys of a document; false: it has none.
func (s *compositeSource) read(doc base.DocID) (bool, error) {
	s.list = s.list[:0]
	var values []int64
	var err error
	if s.keys != nil {
		values, err = s.keys.of(doc)
	} else {
		values, err = s.numbers.of(doc)
	}
	if err != nil {
		return false, err
	}
	for _, v := range values {
		if s.axis != nil {
			v, _ = s.axis.key(v)
			if last := len(s.list) - 1; last >= 0 && s.list[last].key == v {
				continue
			}
		}
		s.list = append(s.list, compositeKey{key: v})
	}
	if len(s.list) == 0 && s.missing {
		s.list = append(s.list, compositeKey{none: true})
	}
	return len(s.list) > 0, nil
}

func (c *composite) collect(docs []base.DocID, _ []uint32) error {
	for _, doc := range docs {
		complete := true
		for i := 0; i < len(c.sources) && complete; i++ {
			var err error
			if complete, err = c.sources[i].read(doc); err != nil {
				return err
			}
		}
		if !complete {
			continue
		}
		if err := c.combine(doc, 0, topBucket); err != nil {
			return err
		}
	}
	return nil
}

func (c *composite) combine(doc base.DocID, source int, tuple uint32) error {
	if source == len(c.sources) {
		if c.before[tuple] {
			return nil
		}
		c.counts[tuple]++
		return c.within.add(doc, tuple)
	}
	for _, k := range c.sources[source].list {
		parent := tuple
		if k.none {
			parent |= noValue
		}
		n, isNew := c.tuples[source].number(parent, k.key)
		if isNew {
			if err := c.e.budget.take(c.Request, tableBytes); err != nil {
				return err
			}
			if source == len(c.sources)-1 {
				c.counts = append(c.counts, 0)
				c.before = append(c.before, c.after != nil && c.compare(c.tuple(n), c.after) <= 0)
			}
		}
		if err := c.combine(doc, source+1, n); err != nil {
			return err
		}
	}
	return nil
}

func (c *composite) tuple(n uint32) []compositeKey {
	out := make([]compositeKey, len(c.sources))
	for i := len(out) - 1; i >= 0; i-- {
		parent := c.tuples[i].parents[n]
		out[i] = compositeKey{key: c.tuples[i].keys[n], none: parent&noValue != 0}
		n = parent &^ noValue
	}
	return out
}

func (c *composite) compare(a, b []compositeKey) int {
	for i := range c.sources {
		s := &c.sources[i]
		if a[i].none || b[i].none {
			if a[i].none == b[i].none {
				continue
			}
			if a[i].none == s.missingFirst {
				return -1
			}
			return 1
		}
		var order int
		if s.keys != nil {
			order = s.keys.compare(a[i].key, b[i].key)
		} else {
			order = cmp.Compare(a[i].key, b[i].key)
		}
		if s.desc {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

func (c *composite) end() error    { return c.within.end() }
func (c *composite) finish() error { return c.within.finish() }

func (c *composite) build(uint32) (*Result, error) {
	var list []candidate
	for n := range c.counts {
		if !c.before[n] {
			list = append(list, candidate{number: uint32(n), key: int64(n), count: c.counts[n]})
		}
	}
	list = order{{by: byKey}}.best(list, c.size, &c.within, func(a, b int64) int {
		return c.compare(c.tuple(uint32(a)), c.tuple(uint32(b)))
	})
	if err := c.e.budget.answer(c.Request, len(list)); err != nil {
		return nil, err
	}
	out := newResult(c.Request)
	out.Buckets = make([]Bucket, len(list))
	for i, found := range list {
		b := &out.Buckets[i]
		b.DocCount = found.count
		if err := c.write(b, found.number); err != nil {
			return nil, err
		}
		out.After = b.key
		var err error
		if b.Aggs, err = c.within.build(found.number); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *composite) write(b *Bucket, n uint32) error {
	w := writer{dst: []byte{'{'}}
	for i, k := range c.tuple(n) {
		s := &c.sources[i]
		w.name(s.name)
		if k.none {
			w.dst = append(w.dst, "null"...)
			continue
		}
		var part Bucket
		if s.keys != nil {
			if err := s.keys.write(&part, k.key); err != nil {
				return err
			}
		} else {
			s.axis.write(&part, k.key)
		}
		switch {
		case s.asText && part.hasText:
			w.dst = appendString(w.dst, part.Text)
		case s.keys != nil && s.keys.field.Type == mapping.Boolean:
			w.dst = append(w.dst, part.Text...)
		default:
			w.dst = append(w.dst, part.key...)
		}
	}
	b.key = append(w.dst, '}')
	b.Text = string(b.key)
	return nil
}
