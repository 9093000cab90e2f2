package aggregate

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/mapping"
)

// numbers reads the numbers of a field; documents without one may count as if they had the missing one.
type numbers struct {
	r       *Request
	e       *env
	field   *mapping.Field
	layout  *mapping.Field // writes dates and booleans; nil for others
	missing []int64
	cursor  *column.Cursor
	column  *column.Column
}

func (e *env) numbersOf(r *Request, p *numberParams) (*numbers, error) {
	f, err := e.numberField(r, p.field)
	if err != nil {
		return nil, err
	}
	n := &numbers{r: r, e: e, field: f}
	if p.hasMissing {
		v, err := e.number(f, p.missing, nil)
		if err != nil {
			return nil, r.errorf("parameter [missing]: %s", base.Message(err))
		}
		n.missing = []int64{v}
	}
	n.layout, err = layoutOf(r, f, p.format)
	return n, err
}

// numberParams are of aggregations over the numbers of a field.
type numberParams struct {
	field, format string
	missing       string
	hasMissing    bool
}

func (p *params) numbers() numberParams {
	n := numberParams{field: p.field(), format: p.text("format", "")}
	n.missing, n.hasMissing = p.missing()
	return n
}

func (n *numbers) begin(segment int) (err error) {
	n.column, err = n.e.index.Segments[segment].Column(n.field.Name)
	n.cursor = nil
	if err == nil && n.column != nil {
		n.cursor = n.column.Cursor()
	}
	return n.r.wrap(err)
}

// of returns the numbers of a document, sorted, valid until the next call.
func (n *numbers) of(doc base.DocID) ([]int64, error) {
	if n.cursor == nil {
		return n.missing, nil
	}
	values, err := n.cursor.Values(doc)
	if err != nil {
		return nil, n.r.wrap(err)
	}
	if len(values) == 0 {
		return n.missing, nil
	}
	return values, nil
}

// textOf is the text of a number that was computed, "" if it has none.
func (n *numbers) textOf(v float64) string {
	if n.layout == nil || !(math.Abs(v) < 1<<62) {
		return ""
	}
	return string(n.layout.AppendNumber(nil, int64(v)))
}

// stats computes min, max, sum, avg, stats, extended_stats, and value_count of numbers.
type stats struct {
	*Request
	*numbers
	sigma   float64
	squares bool
	sums    bool
	list    []statsOf
}

type statsOf struct {
	count    int64
	min, max int64 // coded
	sum      sumOf
	squares  exactSum
}

const defaultSigma = 2

func parseStats(r *Request, p *params) (func(e *env) (collector, error), error) {
	n := p.numbers()
	sigma := 0.0
	if r.Type == "extended_stats" {
		if sigma = p.float("sigma", defaultSigma); sigma < 0 {
			p.fail("sigma", "it is negative")
		}
	}
	return func(e *env) (collector, error) {
		of, err := e.numbersOf(r, &n)
		sums := r.Type != "min" && r.Type != "max"
		return &stats{Request: r, numbers: of, sigma: sigma, sums: sums, squares: r.Type == "extended_stats"}, err
	}, p.err
}

func (s *stats) request() *Request { return s.Request }

func (s *stats) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		values, err := s.of(doc)
		if err != nil {
			return err
		}
		if len(values) == 0 {
			continue
		}
		to, err := s.bucket(buckets[i])
		if err != nil {
			return err
		}
		for _, v := range values {
			s.add(to, v)
		}
	}
	return nil
}

func (s *stats) bucket(bucket uint32) (*statsOf, error) {
	var err error
	if s.list, err = grown(s.e, s.Request, s.list, bucket); err != nil {
		return nil, err
	}
	return &s.list[bucket], nil
}

func (s *stats) add(to *statsOf, v int64) {
	if to.count == 0 {
		to.min, to.max = v, v
	}
	to.count++
	to.min, to.max = min(to.min, v), max(to.max, v)
	if !s.sums {
		return
	}
	f := s.field.Type.Float64(v)
	if s.field.Type.Real() {
		to.sum.addFloat(f)
	} else {
		to.sum.addInteger(v)
	}
	if s.squares {
		to.squares.add(f * f)
	}
}

// whole reads values as a stream.
func (s *stats) whole(_ int, words []uint64) (bool, error) {
	if len(s.missing) > 0 {
		return false, nil
	}
	if s.column == nil {
		return true, nil
	}
	to, err := s.bucket(topBucket)
	if err != nil {
		return false, err
	}
	return true, s.wrap(s.column.Scan(words, func(_ []base.DocID, values []int64) error {
		for _, v := range values {
			s.add(to, v)
		}
		return s.e.ctx.Err()
	}))
}

func (s *stats) end() error    { return nil }
func (s *stats) finish() error { return nil }

func (s *stats) of1(bucket uint32) statsOf {
	if int(bucket) >= len(s.list) {
		return statsOf{}
	}
	return s.list[bucket]
}

func (s *stats) build(bucket uint32) (*Result, error) {
	out := newResult(s.Request)
	numbers := s.computed(bucket)
	for _, name := range statsNames(s.Type) {
		v, ok := numbers[name], true
		if math.IsNaN(v) {
			ok = false
		}
		value := Value{Name: name, Value: v, None: !ok, Whole: name == "count"}
		if name != "count" && ok {
			value.Text = s.textOf(v)
		}
		out.Values = append(out.Values, value)
	}
	return out, nil
}

func (s *stats) metric(bucket uint32, name string) (float64, bool) {
	if name == "" {
		name = "value"
	}
	v, ok := s.computed(bucket)[name]
	return v, ok && !math.IsNaN(v)
}

// statsNames are the numbers of an answer in their order; numbers of an inner object follow its name and a
// slash.
func statsNames(kind string) []string {
	switch kind {
	case "stats":
		return []string{"count", "min", "max", "avg", "sum"}
	case "extended_stats":
		return []string{
			"count", "min", "max", "avg", "sum", "sum_of_squares", "variance", "variance_population", "variance_sampling",
			"std_deviation", "std_deviation_population", "std_deviation_sampling",
			"std_deviation_bounds/upper", "std_deviation_bounds/lower", "std_deviation_bounds/upper_population",
			"std_deviation_bounds/lower_population", "std_deviation_bounds/upper_sampling", "std_deviation_bounds/lower_sampling",
		}
	}
	return []string{"value"}
}

// computed returns the numbers by name; NaN: there is none.
func (s *stats) computed(bucket uint32) map[string]float64 {
	of := s.of1(bucket)
	n := float64(of.count)
	least, most, avg, sum := math.NaN(), math.NaN(), math.NaN(), of.sum.value()
	if of.count > 0 {
		least, most, avg = s.field.Type.Float64(of.min), s.field.Type.Float64(of.max), sum/n
	}
	switch s.Type {
	case "min":
		return map[string]float64{"value": least}
	case "max":
		return map[string]float64{"value": most}
	case "sum":
		return map[string]float64{"value": sum}
	case "avg":
		return map[string]float64{"value": avg}
	}
	out := map[string]float64{"count": n, "min": least, "max": most, "avg": avg, "sum": sum}
	if s.Type == "stats" {
		return out
	}
	squares := of.squares.value()
	population, sampling := math.NaN(), math.NaN()
	if of.count > 0 {
		deviation := max(squares-sum*sum/n, 0)
		population = deviation / n
		if of.count > 1 {
			sampling = deviation / (n - 1)
		}
	}
	if of.count == 0 {
		squares = math.NaN()
	}
	out["sum_of_squares"], out["variance"], out["variance_population"], out["variance_sampling"] = squares, population, population, sampling
	out["std_deviation"], out["std_deviation_population"], out["std_deviation_sampling"] = math.Sqrt(population), math.Sqrt(population), math.Sqrt(sampling)
	for suffix, variance := range map[string]float64{"": population, "_population": population, "_sampling": sampling} {
		out["std_deviation_bounds/upper"+suffix] = avg + float64(s.sigma*math.Sqrt(variance))
		out["std_deviation_bounds/lower"+suffix] = avg - float64(s.sigma*math.Sqrt(variance))
	}
	return out
}

// valueCount counts the values of a field of any type.
type valueCount struct {
	*Request
	e          *env
	field      *mapping.Field
	hasMissing bool
	cursor     *column.Cursor
	counts     counts
}

func parseValueCount(r *Request, p *params) (func(e *env) (collector, error), error) {
	name := p.field()
	_, hasMissing := p.missing()
	return func(e *env) (collector, error) {
		f, err := e.fieldOf(r, name)
		return &valueCount{Request: r, e: e, field: f, hasMissing: hasMissing}, err
	}, p.err
}

func (c *valueCount) request() *Request { return c.Request }

func (c *valueCount) begin(segment int) error {
	column, err := c.e.index.Segments[segment].Column(c.field.Name)
	c.cursor = nil
	if err == nil && column != nil {
		c.cursor = column.Cursor()
	}
	return c.wrap(err)
}

func (c *valueCount) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		n := 0
		if c.cursor != nil {
			values, err := c.cursor.Values(doc)
			if err != nil {
				return c.wrap(err)
			}
			n = len(values)
		}
		if n == 0 && c.hasMissing {
			n = 1
		}
		if n > 0 {
			if err := c.e.count(c.Request, &c.counts, buckets[i], int64(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *valueCount) end() error    { return nil }
func (c *valueCount) finish() error { return nil }

func (c *valueCount) build(bucket uint32) (*Result, error) {
	out := newResult(c.Request)
	out.Values = []Value{{Name: "value", Value: float64(c.counts.of(bucket)), Whole: true}}
	return out, nil
}

func (c *valueCount) metric(bucket uint32, _ string) (float64, bool) {
	return float64(c.counts.of(bucket)), true
}
