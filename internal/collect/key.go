package collect

import (
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// By is the kind of values that a Key compares.
type By uint8

const (
	// Score is the score of the query.
	Score By = iota
	// Written is the order in which documents were written ("_doc").
	Written
	// Values are the values of a field.
	Values
	// Distance is from a geo_point to the nearest, or by Mode another one, of Origins.
	Distance
)

// Mode picks one of several values of a document.
type Mode uint8

// The modes. MinMode and MaxMode are for any field, the others for numbers.
const (
	MinMode Mode = iota
	MaxMode
	SumMode
	AvgMode
	MedianMode
)

var modeNames = []string{"min", "max", "sum", "avg", "median"}

// Missing is the position of documents without a value.
type Missing uint8

const (
	// Last is after all others, in both directions.
	Last Missing = iota
	// First is before all others.
	First
	// AsValue is as if they had Key.Default.
	AsValue
)

// Key is one key of an order.
type Key struct {
	By   By
	Desc bool
	// Of Values and Distance:
	Field   *mapping.Field // nil: not in the mapping, so no document has a value
	Mode    Mode
	Missing Missing
	Default string
	// Format writes dates in answers; "": as milliseconds.
	Format string
	// Of Distance: points, and the unit of values in meters.
	Origins []Point
	Unit    float64
}

// Point is a place on earth, in degrees.
type Point struct{ Lat, Lon float64 }

// isTerms reports whether the key compares byte strings.
func (k *Key) isTerms() bool { return k.By == Values && k.Field != nil && k.Field.HasOrdinals() }

// isReal reports whether values are coded by mapping.EncodeDouble whatever the field's type.
func (k *Key) isReal() bool {
	return k.By == Distance || k.By == Values && k.Field != nil && k.Field.Type.Real() && k.Mode >= SumMode
}

// Value is a value of a hit, or of search_after, for a Key.
type Value struct {
	// None: the document has no value.
	None bool
	// Number is coded: as in the column, by mapping.EncodeDouble, a base.Score or an order of writing.
	Number int64
	// Term is the value of a field with terms.
	Term string
}

// pick returns the value of a document with values, which rise.
func (k *Key) pick(values []int64) int64 {
	n := len(values)
	switch {
	case k.Mode == MinMode:
		return values[0]
	case k.Mode == MaxMode:
		return values[n-1]
	case k.isReal():
		return mapping.EncodeDouble(k.pickReal(values))
	}
	return k.pickWhole(values)
}

func (k *Key) pickReal(values []int64) float64 {
	t, n := k.Field.Type, len(values)
	if k.Mode == MedianMode {
		high := t.Float64(values[n/2])
		if n%2 == 1 {
			return high
		}
		return (t.Float64(values[n/2-1]) + high) / 2
	}
	sum := 0.0
	for _, v := range values {
		sum += t.Float64(v)
	}
	if k.Mode == AvgMode {
		return sum / float64(n)
	}
	return sum
}

// pickWhole rounds means to the nearest, halves up, and keeps sums within int64.
func (k *Key) pickWhole(values []int64) int64 {
	n := len(values)
	if k.Mode == MedianMode {
		if n%2 == 1 {
			return values[n/2]
		}
		values = values[n/2-1 : n/2+1]
		n = 2
	}
	var sum wide
	for _, v := range values {
		sum.add(v)
	}
	if k.Mode == SumMode {
		return sum.clamped()
	}
	return sum.mean(n)
}

// check reports a key that cannot be sorted by.
func (k *Key) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("sort by [%s]: %s: %w", k.Field.Name, fmt.Sprintf(format, args...), base.ErrBadInput)
	}
	switch f := k.Field; {
	case f == nil:
		return nil
	case f.Type == mapping.Text:
		return fail("a text has no column: use a keyword, such as [%s.keyword]", f.Name)
	case f.NoDocValues:
		return fail(`its mapping has "doc_values": false`)
	case k.By == Distance && f.Type != mapping.GeoPoint:
		return fail("type %s is no geo_point", f.Type)
	case k.By == Values && f.Type == mapping.GeoPoint:
		return fail("a geo_point is sorted by _geo_distance")
	case !f.HasNumbers() && !f.HasOrdinals():
		return fail("type %s has no column", f.Type)
	case k.isTerms() && k.Mode > MaxMode:
		return fail("mode %s is for numbers", modeNames[k.Mode])
	case k.Format != "" && f.Type != mapping.Date:
		return fail("only dates have a format")
	}
	return nil
}

const earthRadius = 6_371_008.7714 // meters, the mean of WGS 84, as Lucene's

// distance is the great-circle distance of two points in meters, by the haversine formula.
func distance(a, b Point) float64 {
	const radians = math.Pi / 180
	lat1, lat2 := float64(a.Lat*radians), float64(b.Lat*radians)
	dLat, dLon := math.Sin((lat2-lat1)/2), math.Sin((b.Lon-a.Lon)*radians/2)
	h := float64(dLat*dLat) + float64(math.Cos(lat1)*math.Cos(lat2)*dLon*dLon)
	return 2 * earthRadius * math.Asin(min(1, math.Sqrt(h)))
}

// distances returns the distance of a document's points, by the mode of all pairs, coded.
func (k *Key) distances(points []int64) int64 {
	least, most, sum := math.Inf(1), 0.0, 0.0
	for _, p := range points {
		lat, lon := mapping.DecodePoint(p)
		for _, o := range k.Origins {
			d := distance(Point{lat, lon}, o)
			least, most, sum = min(least, d), max(most, d), sum+d
		}
	}
	meters := least
	switch k.Mode {
	case MaxMode:
		meters = most
	case AvgMode:
		meters = sum / float64(len(points)*len(k.Origins))
	case SumMode:
		meters = sum
	}
	// Values are in the unit, so that search_after reads what hits have: a conversion back to meters is not exact.
	return mapping.EncodeDouble(meters / k.Unit)
}
