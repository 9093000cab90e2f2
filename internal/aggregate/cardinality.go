package aggregate

import (
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// cardinality counts different values: exactly up to a threshold, then by a sketch.
type cardinality struct {
	*Request
	e         *env
	keys      *keys
	threshold int
	list      []distinct
	hashes    []uint64 // of a lexicon's numbers, plus 1; 0: not yet known
}

const (
	defaultPrecision = 3000
	maxPrecision     = 40_000
)

func parseCardinality(r *Request, p *params) (func(e *env) (collector, error), error) {
	name := p.field()
	missing, hasMissing := p.missing()
	threshold := min(p.integer("precision_threshold", defaultPrecision, 0, math.MaxInt32), maxPrecision)
	p.ignored("execution_hint")
	return func(e *env) (collector, error) {
		f, err := e.fieldOf(r, name)
		if err != nil {
			return nil, err
		}
		c := &cardinality{Request: r, e: e, threshold: threshold}
		if f.Type == mapping.GeoPoint {
			return nil, r.errorf("field [%s] is a geo_point", name)
		}
		c.keys, err = e.keysOf(r, name, "", missing, hasMissing)
		return c, err
	}, p.err
}

func (c *cardinality) request() *Request { return c.Request }

func (c *cardinality) begin(segment int) error { return c.keys.begin(segment) }

func (c *cardinality) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		values, err := c.keys.of(doc)
		if err != nil {
			return err
		}
		if len(values) == 0 {
			continue
		}
		if c.list, err = grown(c.e, c.Request, c.list, buckets[i]); err != nil {
			return err
		}
		d := &c.list[buckets[i]]
		for _, v := range values {
			h, err := c.hash(v)
			if err != nil {
				return err
			}
			before := d.bytes()
			d.add(h, c.threshold)
			if after := d.bytes(); after != before {
				if err := c.e.budget.take(c.Request, after-before); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// hash returns the same for a value in every segment.
func (c *cardinality) hash(v int64) (uint64, error) {
	if c.keys.lexicon == nil {
		return mix(uint64(v)), nil
	}
	n := v
	if n >= extra {
		term, err := c.keys.lexicon.term(v)
		return xxh3.Hash(term), err
	}
	if int(n) >= len(c.hashes) {
		grow := max(int(n)+1, 2*len(c.hashes)) - len(c.hashes)
		if err := c.e.budget.take(c.Request, 8*grow); err != nil {
			return 0, err
		}
		c.hashes = append(c.hashes, make([]uint64, grow)...)
	}
	if c.hashes[n] == 0 {
		term, err := c.keys.lexicon.term(v)
		if err != nil {
			return 0, err
		}
		c.hashes[n] = max(xxh3.Hash(term), 1)
	}
	return c.hashes[n], nil
}

// mix is the finaliser of D. Stafford's variant 13 of MurmurHash3, a bijection.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (c *cardinality) end() error    { return nil }
func (c *cardinality) finish() error { return nil }

func (c *cardinality) count(bucket uint32) int64 {
	if int(bucket) >= len(c.list) {
		return 0
	}
	return c.list[bucket].count()
}

func (c *cardinality) build(bucket uint32) (*Result, error) {
	out := newResult(c.Request)
	out.Values = []Value{{Name: "value", Value: float64(c.count(bucket)), Whole: true}}
	return out, nil
}

func (c *cardinality) metric(bucket uint32, _ string) (float64, bool) {
	return float64(c.count(bucket)), true
}

// distinct counts different hashes. Its state depends on the set of them only.
type distinct struct {
	exact     map[uint64]struct{} // nil after the threshold
	registers []uint8             // of the sketch; nil before
}

// registerBits give a standard error of 1.04/sqrt(2^14), 0.8 %.
const (
	registerBits = 14
	numRegisters = 1 << registerBits
	maxRank      = 64 - registerBits + 1
)

// bytes is the memory in use.
func (d *distinct) bytes() int {
	const mapBytes = 16
	return mapBytes*len(d.exact) + len(d.registers)
}

func (d *distinct) add(h uint64, threshold int) {
	if d.registers != nil {
		d.register(h)
		return
	}
	if d.exact == nil {
		d.exact = map[uint64]struct{}{}
	}
	d.exact[h] = struct{}{}
	if len(d.exact) > threshold {
		d.registers = make([]uint8, numRegisters)
		for h := range d.exact {
			d.register(h)
		}
		d.exact = nil
	}
}

func (d *distinct) register(h uint64) {
	rank := uint8(min(bits.LeadingZeros64(h<<registerBits)+1, maxRank))
	r := &d.registers[h>>(64-registerBits)]
	*r = max(*r, rank)
}

// count is exact below the threshold. Beyond, it is the estimate of O. Ertl, "New cardinality estimation
// algorithms for HyperLogLog sketches", arXiv:1702.01284, 2017, algorithm 6, on the sketch of P. Flajolet
// et al., "HyperLogLog", AofA 2007; it needs neither HyperLogLog++'s table of biases nor its change of
// estimators.
func (d *distinct) count() int64 {
	if d.registers == nil {
		return int64(len(d.exact))
	}
	var histogram [maxRank + 1]int
	for _, r := range d.registers {
		histogram[r]++
	}
	const m = float64(numRegisters)
	z := float64(m * tau(1-float64(float64(histogram[maxRank])/m))) // not fused with additions, as below
	for k := maxRank - 1; k >= 1; k-- {
		z = float64(0.5 * (z + float64(histogram[k])))
	}
	z += float64(m * sigma(float64(histogram[0])/m))
	return int64(math.Round(m / (2 * math.Ln2) * m / z))
}

func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += float64(x * y)
		y += y
		if z == before {
			return z
		}
	}
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		z -= float64((1 - x) * (1 - x) * y)
		if z == before {
			return z / 3
		}
	}
}
