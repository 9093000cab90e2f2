package plan

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// Fields of types other than text are searched by their columns, and keywords by their lists too.
// Values of queries are read as values of documents are (package mapping), so that they compare as there.

// typed returns the field of a name if its type is not text; else nil.
func (c *compiler) typed(name string) *mapping.Field {
	if name == "" || c.snapshot == nil || c.snapshot.Options.Mapping == nil {
		return nil
	}
	f, ok := c.snapshot.Options.Mapping.Field(name)
	if !ok || f.Type == mapping.Text {
		return nil
	}
	return f
}

// fieldWeight is the boost of the field of a node, 1 by default.
func fieldWeight(s *index.Snapshot, n query.Node) float64 {
	if s == nil || s.Options.Mapping == nil {
		return 1
	}
	name, _ := query.FieldOf(n)
	f, ok := s.Options.Mapping.Field(name)
	if name == "" || !ok {
		return 1
	}
	return f.Weight()
}

// searchable is typed, with an error if queries cannot search the field.
func (c *compiler) searchable(name string) (*mapping.Field, error) {
	f := c.typed(name)
	if f == nil {
		return nil, nil
	}
	if err := searchableField(f); err != nil {
		return nil, err
	}
	return f, nil
}

// typedValue compiles a text in a field that is not analysed.
func (c *compiler) typedValue(f *mapping.Field, text string, boost float64) (node, error) {
	if f.Type == mapping.Keyword {
		return c.exact(f.Name, c.analyzers.normal(f, text), boost)
	}
	s, err := c.valueSource(f, []string{text})
	if err != nil || s == nil {
		return nothing(), err
	}
	return wrapSet(setKey("value", 0, f.Name, text), (&query.Terms{Field: f.Name, Values: []string{text}}).String(), s, constantScore(boost)), nil
}

// valueSource returns the source of documents with one of the values; nil if no document can have one.
func (c *compiler) valueSource(f *mapping.Field, values []string) (source, error) {
	if f.Type == mapping.IP {
		return addressSource(f, values)
	}
	if f.Type == mapping.GeoPoint {
		return nil, fmt.Errorf("field %q is of type geo_point: use a distance or a box: %w", f.Name, base.ErrBadInput)
	}
	var numbers []int64
	var ranges []*columnRange
	for _, v := range values {
		lo, hi, err := c.bounds(f, &query.Range{Field: f.Name, From: v, To: v})
		switch {
		case err != nil:
			return nil, err
		case lo > hi:
		case lo == hi:
			numbers = append(numbers, lo)
		default: // a date such as 2024 stands for all its moments
			ranges = append(ranges, &columnRange{f.Name, lo, hi})
		}
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	var all union
	if len(numbers) > 0 {
		all = append(all, &columnValues{f.Name, numbers})
	}
	for _, r := range ranges {
		all = append(all, r)
	}
	return all.simple(), nil
}

func addressSource(f *mapping.Field, values []string) (source, error) {
	var all union
	for _, v := range values {
		if strings.Contains(v, "/") {
			first, last, err := mapping.AddressRange(v)
			if err != nil {
				return nil, fmt.Errorf("field %q: %q is %w: %w", f.Name, v, err, base.ErrBadInput)
			}
			all = append(all, &ordinalRange{name: f.Name, from: first[:], to: last[:]})
			continue
		}
		b, _, err := f.Bytes(v)
		if err != nil {
			return nil, err
		}
		all = append(all, &ordinalRange{name: f.Name, from: b, to: b})
	}
	return all.simple(), nil
}

// typedRange compiles a range over a column.
func (c *compiler) typedRange(f *mapping.Field, n *query.Range, boost float64) (node, error) {
	if f.Type != mapping.Date && (n.Format != "" || n.Zone != "") {
		return nil, noDates(n)
	}
	var s source
	var key string
	switch f.Type {
	case mapping.GeoPoint:
		return nil, fmt.Errorf("field %q is of type geo_point: use a distance or a box: %w", f.Name, base.ErrBadInput)
	case mapping.Keyword, mapping.IP:
		r := &ordinalRange{name: f.Name, excludeFrom: n.ExcludeFrom, excludeTo: n.ExcludeTo}
		var err error
		if r.from, err = ordinalBound(f, c.analyzers.normal(f, n.From)); err != nil {
			return nil, err
		}
		if r.to, err = ordinalBound(f, c.analyzers.normal(f, n.To)); err != nil {
			return nil, err
		}
		s, key = r, setKey(fmt.Sprintf("ordinals %t %t", n.ExcludeFrom, n.ExcludeTo), 0, f.Name, string(r.from), string(r.to))
	default:
		lo, hi, err := c.bounds(f, n)
		if err != nil {
			return nil, err
		}
		if lo > hi {
			return nothing(), nil
		}
		s, key = &columnRange{f.Name, lo, hi}, setKey("numbers", 0, f.Name, strconv.FormatInt(lo, 10), strconv.FormatInt(hi, 10))
	}
	return wrapSet(key, n.String(), s, constantScore(boost)), nil
}

func noDates(n *query.Range) error {
	return fmt.Errorf("range %s: field %q has no dates, which formats and time zones are for: %w", n, n.Field, base.ErrBadInput)
}

// ordinalBound returns nil for no bound.
func ordinalBound(f *mapping.Field, text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	if f.Type == mapping.Keyword {
		return []byte(text), nil
	}
	b, _, err := f.Bytes(text)
	return b, err
}

// bounds returns the least and the greatest number of a range in a field of numbers, which is empty if the
// first is greater.
func (c *compiler) bounds(f *mapping.Field, n *query.Range) (lo, hi int64, err error) {
	lo, hi = math.MinInt64, math.MaxInt64
	clock, f, err := c.clock(f, n)
	if err != nil {
		return 0, 0, err
	}
	var none [2]bool
	if n.From != "" {
		if lo, none[0], err = lowerBound(f, n.From, n.ExcludeFrom, clock); err != nil {
			return 0, 0, err
		}
	}
	if n.To != "" {
		if hi, none[1], err = upperBound(f, n.To, n.ExcludeTo, clock); err != nil {
			return 0, 0, err
		}
	}
	if none[0] || none[1] {
		return 1, 0, nil
	}
	return lo, hi, nil
}

func (c *compiler) clock(f *mapping.Field, n *query.Range) (mapping.Clock, *mapping.Field, error) {
	if f.Type != mapping.Date {
		return mapping.Clock{}, f, nil
	}
	if c.now.IsZero() {
		c.now = time.Now()
	}
	clock := mapping.Clock{Now: c.now}
	var err error
	if n.Zone != "" {
		if clock.Zone, err = mapping.ParseZone(n.Zone); err != nil {
			return clock, f, fmt.Errorf("range %s: %w: %w", n, err, base.ErrBadInput)
		}
	}
	if n.Format != "" {
		if f, err = f.WithFormat(n.Format); err != nil {
			return clock, f, fmt.Errorf("range %s: %w", n, err)
		}
	}
	return clock, f, nil
}

// lowerBound returns the least number of a field that is not less than a value, or greater if it is excluded.
// none: there is none.
func lowerBound(f *mapping.Field, text string, exclude bool, clock mapping.Clock) (v int64, none bool, err error) {
	var of place
	switch {
	case f.Type == mapping.Date:
		clock.RoundUp = exclude
		v, err = f.Date(text, clock)
	case f.Type.Whole():
		v, of, err = floor(f, text)
	default:
		v, err = f.Number(text)
	}
	switch {
	case of == above:
		return 0, true, nil
	case of == below:
		return math.MinInt64, false, nil
	case of == between || exclude:
		return v + 1, v == math.MaxInt64, err
	}
	return v, false, err
}

// upperBound returns the greatest number of a field that is not greater than a value, or less if it is
// excluded. none: there is none.
func upperBound(f *mapping.Field, text string, exclude bool, clock mapping.Clock) (v int64, none bool, err error) {
	var of place
	switch {
	case f.Type == mapping.Date:
		clock.RoundUp = !exclude
		v, err = f.Date(text, clock)
	case f.Type.Whole():
		v, of, err = floor(f, text)
	default:
		v, err = f.Number(text)
	}
	switch {
	case of == above:
		return math.MaxInt64, false, nil
	case of == below:
		return 0, true, nil
	case of == at && exclude:
		return v - 1, v == math.MinInt64, err
	}
	return v, false, err
}

// place is where a number is relative to the 64-bit whole numbers.
type place uint8

const (
	at      place = iota // equal to one
	between              // above one, and below the next
	above                // above all
	below                // below all
)

// floor returns the greatest whole number that is not greater than a value.
func floor(f *mapping.Field, text string) (v int64, of place, err error) {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return v, at, nil
	}
	if _, err := (&mapping.Field{Name: f.Name, Type: mapping.Double}).Number(text); err != nil {
		var bad *mapping.ValueError
		if errors.As(err, &bad) {
			bad.Type = f.Type
		}
		return 0, at, err
	}
	approximate, _ := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case approximate >= 1e19:
		return 0, above, nil
	case approximate <= -1e19:
		return 0, below, nil
	case math.Abs(approximate) < 1e-300: // the exact number might have very many digits
		if approximate < 0 {
			return -1, between, nil
		}
		return 0, map[bool]place{true: at, false: between}[approximate == 0], nil
	}
	r, ok := new(big.Rat).SetString(strings.TrimSpace(text))
	if !ok {
		return 0, at, fmt.Errorf("field %q: %q is no number: %w", f.Name, text, base.ErrBadInput)
	}
	quotient, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	switch {
	case !quotient.IsInt64() && quotient.Sign() > 0:
		return 0, above, nil
	case !quotient.IsInt64():
		return 0, below, nil
	case rest.Sign() == 0:
		return quotient.Int64(), at, nil
	}
	return quotient.Int64(), between, nil
}
