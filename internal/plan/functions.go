package plan

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// valueFunctionOf compiles what multiplies the weight of a function; nil for nothing. The key identifies what its
// text does not: the time.
func valueFunctionOf(c *compiler, q *query.Function) (f valueFunction, key string, err error) {
	switch {
	case q.Random != nil:
		if q.Random.Field == "" {
			return &randomID{q.Random.Seed}, "", nil
		}
		field, err := numbersOf(c, q.Random.Field, "random_score")
		if err != nil {
			return nil, "", err
		}
		return &randomNumber{q.Random.Seed, field.Name}, "", nil
	case q.Value != nil:
		field, err := numbersOf(c, q.Value.Field, "field_value_factor")
		if err != nil {
			return nil, "", err
		}
		return &fieldValue{field, q.Value}, "", nil
	case q.Decay != nil:
		d, err := decayOf(c, q.Decay)
		if err != nil {
			return nil, "", err
		}
		return d, strconv.FormatFloat(d.origin, 'g', -1, 64), nil
	}
	return nil, "", nil
}

// numbersOf returns a field with a column of numbers.
func numbersOf(c *compiler, name, what string) (*mapping.Field, error) {
	f := c.typed(name)
	switch {
	case f == nil:
		return nil, fmt.Errorf("%s: the index has no field %q of numbers: %w", what, name, base.ErrBadInput)
	case !f.Type.Numeric() || f.Type == mapping.GeoPoint:
		return nil, fmt.Errorf("%s: field %q is of type %s, which has no numbers: %w", what, name, f.Type, base.ErrBadInput)
	}
	return f, withDocValues(f, what)
}

func withDocValues(f *mapping.Field, what string) error {
	if f.NoDocValues {
		return fmt.Errorf("%s: field %q has doc_values false in its mapping: %w", what, f.Name, base.ErrBadInput)
	}
	return nil
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// uniform returns a number from 0 to 1, excluded, with 24 bits.
func uniform(seed int64, hash uint64) float64 {
	return float64(mix(hash^mix(uint64(seed)+0x9e3779b97f4a7c15))>>40) / (1 << 24)
}

// idHash is FNV-1a.
func idHash(id []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, b := range id {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	return h
}

// randomID is the random number of a document's id.
type randomID struct{ seed int64 }

func (r *randomID) open(m *matcher) (func(doc base.DocID) (float64, bool, error), float64, error) {
	view := m.view()
	return func(doc base.DocID) (float64, bool, error) {
		id, err := view.ID(doc)
		return uniform(r.seed, idHash(id)), true, err
	}, 1, nil
}

// randomNumber is the random number of a document's least value; it does not apply without one.
type randomNumber struct {
	seed int64
	name string
}

func (r *randomNumber) open(m *matcher) (func(doc base.DocID) (float64, bool, error), float64, error) {
	c, err := cursorOf(m, r.name)
	return func(doc base.DocID) (float64, bool, error) {
		v, ok, err := c.value(doc)
		return uniform(r.seed, uint64(v)), ok, err
	}, 1, err
}

// numberCursor reads a column, which the segment may lack.
type numberCursor struct {
	column *column.Column
	cursor *column.Cursor
}

func cursorOf(m *matcher, name string) (numberCursor, error) {
	c, ok, err := m.column(name)
	if err != nil || !ok {
		return numberCursor{}, err
	}
	return numberCursor{c, c.Cursor()}, nil
}

func (c numberCursor) value(doc base.DocID) (int64, bool, error) {
	if c.cursor == nil {
		return 0, false, nil
	}
	return c.cursor.Value(doc)
}

func (c numberCursor) values(doc base.DocID) ([]int64, error) {
	if c.cursor == nil {
		return nil, nil
	}
	return c.cursor.Values(doc)
}

// fieldValue is a query.FieldValue.
type fieldValue struct {
	field *mapping.Field
	query *query.FieldValue
}

func (f *fieldValue) open(m *matcher) (func(doc base.DocID) (float64, bool, error), float64, error) {
	c, err := cursorOf(m, f.field.Name)
	if err != nil {
		return nil, 0, err
	}
	bound := 0.0
	if f.query.Missing != nil {
		bound = f.modified(*f.query.Missing)
	}
	if c.column != nil && c.column.NumValues() > 0 {
		bound = max(bound, f.greatest(c.column.Bounds()))
	}
	return func(doc base.DocID) (float64, bool, error) {
		v, ok, err := c.value(doc)
		switch {
		case ok:
			return f.modified(f.field.Type.Float64(v)), true, err
		case f.query.Missing != nil:
			return f.modified(*f.query.Missing), true, err
		}
		return 0, false, err
	}, bound, nil
}

// greatest is the greatest value of the numbers from lo to hi.
func (f *fieldValue) greatest(lo, hi int64) float64 {
	low, high := f.field.Type.Float64(lo), f.field.Type.Float64(hi)
	if f.query.Modifier == query.ModifierReciprocal {
		return math.Inf(1) // it has a pole
	}
	// All others are monotone, but the square, which is greatest at an end.
	return max(f.modified(low), f.modified(high))
}

// modified is the value of a number.
func (f *fieldValue) modified(v float64) float64 {
	if f.query.Factor != 0 {
		v = float64(v * f.query.Factor)
	}
	switch f.query.Modifier {
	case query.ModifierLog:
		v = math.Log10(v)
	case query.ModifierLog1p:
		v = math.Log10(v + 1)
	case query.ModifierLog2p:
		v = math.Log10(v + 2)
	case query.ModifierLn:
		v = math.Log(v)
	case query.ModifierLn1p:
		v = math.Log1p(v)
	case query.ModifierLn2p:
		v = math.Log1p(v + 1)
	case query.ModifierSquare:
		v = float64(v * v)
	case query.ModifierSqrt:
		v = math.Sqrt(v)
	case query.ModifierReciprocal:
		v = 1 / v
	}
	if !(v > 0) {
		return 0
	}
	return v
}

// decay is a query.Decay with its numbers.
type decay struct {
	field            *mapping.Field
	shape            query.DecayShape
	of               query.DistanceMode
	origin, lat, lon float64
	offset           float64
	// rate is -1/(2*sigma^2) of gauss, lambda of exp, and the distance of linear at which the value is 0.
	rate float64
}

func decayOf(c *compiler, q *query.Decay) (*decay, error) {
	f := c.typed(q.Field)
	if f == nil || !f.HasNumbers() {
		return nil, fmt.Errorf("%s: the index has no field %q of numbers, dates or points: %w", query.DecayShapes[q.Shape], q.Field, base.ErrBadInput)
	}
	if err := withDocValues(f, query.DecayShapes[q.Shape]); err != nil {
		return nil, err
	}
	d := &decay{field: f, shape: q.Shape, of: q.Of}
	scale, err := d.parse(c, q)
	if err != nil {
		return nil, fmt.Errorf("%s of field %q: %w", query.DecayShapes[q.Shape], q.Field, err)
	}
	if !(scale > 0) || !(d.offset >= 0) {
		return nil, fmt.Errorf("%s of field %q: scale %q must be greater than 0, and offset %q not less: %w", query.DecayShapes[q.Shape], q.Field, q.Scale, q.Offset, base.ErrBadInput)
	}
	at := q.Decay
	if at == 0 {
		at = 0.5
	}
	switch d.shape {
	case query.Gauss:
		d.rate = math.Log(at) / float64(scale*scale)
	case query.Exp:
		d.rate = math.Log(at) / scale
	case query.Linear:
		d.rate = scale / (1 - at)
	}
	return d, nil
}

// parse reads origin and offset, and returns the scale.
func (d *decay) parse(c *compiler, q *query.Decay) (scale float64, err error) {
	lengths := func(parse func(text string) (float64, error)) (scale float64, err error) {
		if scale, err = parse(q.Scale); err == nil && q.Offset != "" {
			d.offset, err = parse(q.Offset)
		}
		return scale, err
	}
	switch d.field.Type {
	case mapping.GeoPoint:
		if d.lat, d.lon, err = mapping.ParsePoint(q.Origin); err != nil {
			return 0, fmt.Errorf("origin %q: %w: %w", q.Origin, err, base.ErrBadInput)
		}
		return lengths(query.ParseDistance)
	case mapping.Date:
		if c.now.IsZero() {
			c.now = time.Now()
		}
		text := q.Origin
		if text == "" {
			text = "now"
		}
		millis, err := d.field.Date(text, mapping.Clock{Now: c.now})
		if err != nil {
			return 0, err
		}
		d.origin = float64(millis)
		return lengths(func(text string) (float64, error) {
			n, err := mapping.ParseDuration(text)
			if err != nil {
				return 0, fmt.Errorf("%w: %w", err, base.ErrBadInput)
			}
			return float64(n), nil
		})
	}
	number := func(text string) (float64, error) {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return 0, fmt.Errorf("%q is no number: %w", text, base.ErrBadInput)
		}
		return v, nil
	}
	if d.origin, err = number(q.Origin); err != nil {
		return 0, err
	}
	return lengths(number)
}

func (d *decay) open(m *matcher) (func(doc base.DocID) (float64, bool, error), float64, error) {
	c, err := cursorOf(m, d.field.Name)
	return func(doc base.DocID) (float64, bool, error) {
		values, err := c.values(doc)
		if len(values) == 0 {
			return 1, true, err
		}
		return d.value(d.distance(values)), true, err
	}, 1, err
}

// distance of several values; there is one at least.
func (d *decay) distance(values []int64) float64 {
	result := 0.0
	for i, v := range values {
		far := d.far(v)
		switch {
		case i == 0:
			result = far
		case d.of == query.DistanceMin:
			result = min(result, far)
		case d.of == query.DistanceMax:
			result = max(result, far)
		default:
			result += far
		}
	}
	if d.of == query.DistanceAvg {
		result /= float64(len(values))
	}
	return result
}

// far is the distance of a value beyond the offset.
func (d *decay) far(v int64) float64 {
	if d.field.Type == mapping.GeoPoint {
		lat, lon := mapping.DecodePoint(v)
		return max(haversine(d.lat, d.lon, lat, lon)-d.offset, 0)
	}
	return max(math.Abs(d.field.Type.Float64(v)-d.origin)-d.offset, 0)
}

func (d *decay) value(far float64) float64 {
	switch d.shape {
	case query.Gauss:
		return math.Exp(float64(far*far) * d.rate)
	case query.Exp:
		return math.Exp(far * d.rate)
	}
	return max((d.rate-far)/d.rate, 0)
}
