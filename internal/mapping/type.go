package mapping

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Type is the type of a field.
type Type uint8

// The types. RankFeatures is another name of SparseVector.
const (
	Text Type = iota
	Keyword
	Long
	Integer
	Short
	Byte
	Double
	Float
	Boolean
	Date
	IP
	GeoPoint
	SparseVector
	Object
	RankFeatures
	numTypes
)

var typeNames = [numTypes]string{
	"text", "keyword", "long", "integer", "short", "byte", "double", "float", "boolean", "date", "ip", "geo_point", "sparse_vector", "object",
	"rank_features",
}

// String returns the name, as in the JSON of a mapping.
func (t Type) String() string {
	if t >= numTypes {
		return fmt.Sprintf("type %d", uint8(t))
	}
	return typeNames[t]
}

// typeOf returns the type of a name.
func typeOf(name string) (Type, bool) {
	for t, n := range typeNames {
		if n == name {
			return Type(t), true
		}
	}
	return 0, false
}

// MarshalText implements encoding.TextMarshaler.
func (t Type) MarshalText() ([]byte, error) {
	if t >= numTypes {
		return nil, fmt.Errorf("%s: %w", t, base.ErrBadInput)
	}
	return []byte(typeNames[t]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Type) UnmarshalText(name []byte) error {
	known, ok := typeOf(string(name))
	if !ok {
		return fmt.Errorf("type %.80q of a field: %w", name, base.ErrBadInput)
	}
	*t = known
	return nil
}

// Numeric reports whether values are int64 (Field.Number).
func (t Type) Numeric() bool { return t >= Long && t <= Date || t == GeoPoint }

// Whole reports whether values are whole numbers, as JSON has them.
func (t Type) Whole() bool { return t >= Long && t <= Byte }

// Real reports whether values are floating-point numbers.
func (t Type) Real() bool { return t == Double || t == Float }

// Vector reports whether values are objects of tokens and weights (ParseVector).
func (t Type) Vector() bool { return t == SparseVector || t == RankFeatures }
