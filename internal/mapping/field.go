package mapping

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// Field is one field of a Mapping.
type Field struct {
	// Name is dotted: "location", "title.keyword".
	Name string `json:"name"`
	Type Type   `json:"type"`
	// Of is the field whose values a multi-field takes; "" for others.
	Of string `json:"of,omitempty"`
	// Analyzer and SearchAnalyzer are of a text; "": the index's, or Analyzer.
	Analyzer       string `json:"analyzer,omitempty"`
	SearchAnalyzer string `json:"search_analyzer,omitempty"`
	// Normalizer is of a keyword: its values are indexed in their normal form; "": as they are.
	Normalizer string `json:"normalizer,omitempty"`
	// NoIndex: queries cannot search it. NoDocValues: it cannot be sorted or aggregated.
	NoIndex     bool `json:"no_index,omitempty"`
	NoDocValues bool `json:"no_doc_values,omitempty"`
	// IgnoreAbove leaves out keywords with more characters; 0: none.
	IgnoreAbove int `json:"ignore_above,omitempty"`
	// NullValue takes the place of null.
	NullValue *string `json:"null_value,omitempty"`
	// Format is of a date; "": DefaultFormat.
	Format string `json:"format,omitempty"`
	// Boost multiplies scores; 0 means 1.
	Boost float64 `json:"boost,omitempty"`
	// WeightScale is of a vector: the index stores weight times scale, rounded; 0: DefaultWeightScale.
	WeightScale float64 `json:"weight_scale,omitempty"`
	// CopyTo names fields that get the values too.
	CopyTo []string `json:"copy_to,omitempty"`

	formats dateFormats // of Format, set by Mapping
}

// HasTerms reports whether the field has posting lists.
func (f *Field) HasTerms() bool {
	return (f.Type == Text || f.Type == Keyword || f.Type.Vector()) && !f.NoIndex
}

// HasNumbers reports whether the field has a column of numbers. It has one for queries also if it cannot
// be sorted.
func (f *Field) HasNumbers() bool { return f.Type.Numeric() && (!f.NoIndex || !f.NoDocValues) }

// HasOrdinals reports whether the field has a column of byte strings.
func (f *Field) HasOrdinals() bool {
	return f.Type == Keyword && !f.NoDocValues || f.Type == IP && (!f.NoIndex || !f.NoDocValues)
}

// plain reports whether a field is a text without further parameters, as all fields were before there
// were mappings.
func (f *Field) plain() bool { return f.equal(&Field{Name: f.Name}) }

func (f *Field) equal(o *Field) bool {
	return f.Name == o.Name && f.Type == o.Type && f.Of == o.Of && f.Analyzer == o.Analyzer && f.SearchAnalyzer == o.SearchAnalyzer && f.Normalizer == o.Normalizer &&
		f.NoIndex == o.NoIndex && f.NoDocValues == o.NoDocValues && f.IgnoreAbove == o.IgnoreAbove && sameText(f.NullValue, o.NullValue) &&
		f.Format == o.Format && f.Boost == o.Boost && f.WeightScale == o.WeightScale && slices.Equal(f.CopyTo, o.CopyTo)
}

func sameText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// ValueError means that a field cannot hold a value. It wraps base.ErrBadInput.
type ValueError struct {
	Field string
	Type  Type
	Value string
	Err   error // why
}

// Error names field, value and reason.
func (e *ValueError) Error() string {
	return fmt.Sprintf("field %q of type %s cannot hold %q: %v", e.Field, e.Type, e.Preview(), e.Err)
}

// Unwrap returns base.ErrBadInput.
func (e *ValueError) Unwrap() []error { return []error{base.ErrBadInput, e.Err} }

// Preview returns the beginning of the value.
func (e *ValueError) Preview() string {
	const most = 100
	if len(e.Value) <= most {
		return e.Value
	}
	end := most
	for end > 0 && !utf8.RuneStart(e.Value[end]) {
		end--
	}
	return e.Value[:end] + "…"
}

func (f *Field) fail(value string, format string, args ...any) error {
	return &ValueError{Field: f.Name, Type: f.Type, Value: value, Err: fmt.Errorf(format, args...)}
}

// badDate adds the value and the format to an error.
func (f *Field) badDate(value string, err error) error {
	switch {
	case err == nil:
		return nil
	case f.Format == "":
		return f.fail(value, "%w", err)
	}
	return f.fail(value, "%w of the format %s", err, f.Format)
}

// TooLong is the error of a keyword that has more than MaxKeywordBytes bytes, itself or in its normal form.
func (f *Field) TooLong(value string, numBytes int) error {
	return f.fail(value, "%d bytes, at most %d: set ignore_above", numBytes, MaxKeywordBytes)
}

// Number returns a value as an int64; the order of these is the order of values. Whole numbers are
// themselves, dates milliseconds since 1970 in UTC, booleans 0 and 1, others are coded as by EncodeDouble,
// EncodeFloat and EncodePoint. The error is a *ValueError. The type must be Numeric.
func (f *Field) Number(value string) (int64, error) {
	switch f.Type {
	case Long, Integer, Short, Byte:
		return f.whole(value)
	case Double, Float:
		return f.real(value)
	case Boolean:
		switch value {
		case "true":
			return 1, nil
		case "false":
			return 0, nil
		}
		return 0, f.fail(value, "want true or false")
	case Date:
		v, err := f.formats.parse(value, time.UTC, false /* round up */)
		return v, f.badDate(value, err)
	case GeoPoint:
		lat, lon, err := ParsePoint(value)
		if err != nil {
			return 0, f.fail(value, "%w", err)
		}
		return EncodePoint(lat, lon), nil
	}
	return 0, f.fail(value, "not a type of numbers")
}

// MaxKeywordBytes is the longest keyword that is indexed.
const MaxKeywordBytes = 1 << 15

// Bytes returns a keyword or an address as a byte string; false if ignore_above leaves it out. An address
// has 16 bytes. The error is a *ValueError. The type must be Keyword or IP.
func (f *Field) Bytes(value string) (b []byte, ok bool, err error) {
	switch f.Type {
	case Keyword:
		if f.Ignores(value) {
			return nil, false, nil
		}
		if len(value) > MaxKeywordBytes {
			return nil, false, f.TooLong(value, len(value))
		}
		return []byte(value), true, nil
	case IP:
		a, err := parseAddress(value)
		if err != nil {
			return nil, false, f.fail(value, "%w", err)
		}
		return a[:], true, nil
	}
	return nil, false, f.fail(value, "not a type of texts")
}

// Ignores reports whether ignore_above leaves out a keyword.
func (f *Field) Ignores(value string) bool {
	return f.IgnoreAbove > 0 && len(value) > f.IgnoreAbove && utf16Len(value) > f.IgnoreAbove
}

// utf16Len counts as Java does, and so OpenSearch.
func utf16Len(s string) (n int) {
	for _, r := range s {
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}

// Check returns an error, a *ValueError, if the field cannot hold the value.
func (f *Field) Check(value string) (err error) {
	switch {
	case f.Type == Keyword && len(value) <= MaxKeywordBytes:
	case f.Type == Keyword || f.Type == IP:
		_, _, err = f.Bytes(value)
	case f.Type.Numeric():
		_, err = f.Number(value)
	case f.Type.Vector():
		_, err = f.Vector(value)
	}
	return err
}

// AppendNumber appends the text of a number of the field: "true", "2024-01-01T00:00:00.000Z", "1.5".
func (f *Field) AppendNumber(dst []byte, v int64) []byte {
	if f.Type == Date {
		return f.formats.append(dst, v, time.UTC)
	}
	return f.Type.appendNumber(dst, v)
}

// AppendBytes appends the text of a byte string of the field.
func (f *Field) AppendBytes(dst, b []byte) []byte {
	if f.Type == IP {
		return appendAddress(dst, b)
	}
	return append(dst, b...)
}

// Parent returns the object that a field is in, "" for the root.
func (f *Field) Parent() string {
	if i := strings.LastIndexByte(f.Name, '.'); i >= 0 {
		return f.Name[:i]
	}
	return ""
}
