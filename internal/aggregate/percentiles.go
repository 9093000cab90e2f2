package aggregate

import (
	"math"
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
)

// percentiles computes percentiles, or the percentile ranks of values.
type percentiles struct {
	*Request
	*numbers
	keyed bool
	list  []quantiles
}

var defaultPercents = []float64{1, 5, 25, 50, 75, 95, 99}

func parsePercentiles(r *Request, p *params) (func(e *env) (collector, error), error) {
	r.percents = defaultPercents
	if p.has("percents") {
		r.percents = p.floats("percents")
	}
	for _, v := range r.percents {
		if !(v >= 0 && v <= 100) {
			p.fail("percents", "%g is not between 0 and 100", v)
		}
	}
	return parseQuantiles(r, p)
}

func parsePercentileRanks(r *Request, p *params) (func(e *env) (collector, error), error) {
	if r.percents = p.floats("values"); len(r.percents) == 0 {
		p.fail("values", "it is required")
	}
	return parseQuantiles(r, p)
}

func parseQuantiles(r *Request, p *params) (func(e *env) (collector, error), error) {
	n := p.numbers()
	keyed := p.boolean("keyed", true)
	p.ignored("tdigest") // its compression; answers are closer than any
	return func(e *env) (collector, error) {
		of, err := e.numbersOf(r, &n)
		return &percentiles{Request: r, numbers: of, keyed: keyed}, err
	}, p.err
}

func (p *percentiles) request() *Request { return p.Request }

func (p *percentiles) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		values, err := p.of(doc)
		if err != nil {
			return err
		}
		if len(values) == 0 {
			continue
		}
		if p.list, err = grown(p.e, p.Request, p.list, buckets[i]); err != nil {
			return err
		}
		q := &p.list[buckets[i]]
		more := 0
		for _, v := range values {
			more += q.add(v)
		}
		if more != 0 {
			if err := p.e.budget.take(p.Request, distinctBytes*more); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *percentiles) end() error { return nil }

func (p *percentiles) finish() error {
	for i := range p.list {
		p.list[i].finish()
	}
	return nil
}

// at computes the number for one of the request's.
func (p *percentiles) at(bucket uint32, of float64) float64 {
	if int(bucket) >= len(p.list) || p.list[bucket].count == 0 {
		return math.NaN()
	}
	q := &p.list[bucket]
	if p.Type == "percentile_ranks" {
		return 100 * q.rank(of, p.field.Type)
	}
	return q.value(of/100, p.field.Type)
}

func (p *percentiles) build(bucket uint32) (*Result, error) {
	out := newResult(p.Request)
	out.list, out.values = !p.keyed, true
	for _, of := range p.percents {
		v := p.at(bucket, of)
		value := Value{Name: string(appendFloat(nil, of)), Value: v, None: math.IsNaN(v)}
		if p.Type == "percentiles" && !value.None {
			value.Text = p.textOf(v)
		}
		out.Values = append(out.Values, value)
	}
	return out, nil
}

func percentNamed(percent float64, name string) bool {
	v, err := strconv.ParseFloat(name, 64)
	return err == nil && v == percent
}

func (p *percentiles) metric(bucket uint32, name string) (float64, bool) {
	of, _ := strconv.ParseFloat(name, 64)
	v := p.at(bucket, of)
	return v, !math.IsNaN(v)
}
