package griffin

import (
	"context"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
)

// Mapping describes the fields of an index: their names, types and parameters, as a mapping of
// OpenSearch does. Its JSON is OpenSearch's. It does not change, and is safe for concurrent use.
type Mapping struct{ m *mapping.Mapping }

// ParseMapping parses a mapping, such as
//
//	{"properties": {"price": {"type": "double"}, "title": {"type": "text", "fields": {"keyword": {"type": "keyword"}}}}}
//
// The types are text, keyword, long, integer, short, byte, double, float, boolean, date, ip, geo_point,
// sparse_vector, rank_features and object. The error wraps ErrBadInput and names the field and the parameter.
func ParseMapping(text []byte) (*Mapping, error) {
	m, err := mapping.Parse(text)
	if err != nil {
		return nil, err
	}
	return &Mapping{m}, nil
}

// ParseMappingUpdate is ParseMapping for AddMapping: copy_to may also name fields that only the index has.
func ParseMappingUpdate(text []byte) (*Mapping, error) {
	m, err := mapping.ParseUpdate(text)
	if err != nil {
		return nil, err
	}
	return &Mapping{m}, nil
}

// MarshalJSON implements json.Marshaler. ParseMapping reads it.
func (m *Mapping) MarshalJSON() ([]byte, error) { return m.m.AppendJSON(nil), nil }

// UnmarshalJSON implements json.Unmarshaler. It also reads an update, as ParseMappingUpdate does: Create returns an
// error if copy_to names a field that the mapping does not have.
func (m *Mapping) UnmarshalJSON(text []byte) (err error) {
	m.m, err = mapping.ParseUpdate(text)
	return err
}

// MappedField is a field of a Mapping.
type MappedField struct {
	// Name is dotted: "meta.author", or "title.keyword" for a multi-field.
	Name string `json:"name"`
	// Type is the name of a type, such as "keyword".
	Type string `json:"type"`
}

// Fields returns the fields in the order in which they were declared.
func (m *Mapping) Fields() []MappedField {
	fields := make([]MappedField, 0, len(m.m.Fields()))
	for _, f := range m.m.Fields() {
		fields = append(fields, MappedField{Name: f.Name, Type: f.Type.String()})
	}
	return fields
}

// of returns nil for none.
func (m *Mapping) of() *mapping.Mapping {
	if m == nil {
		return nil
	}
	return m.m
}

// Mapping returns the fields of the last visible commit, besides the default one. Without
// Settings.Mapping they are texts.
func (ix *Index) Mapping() *Mapping {
	options := ix.ix.Options()
	return &Mapping{options.FieldMapping()}
}

// AddMapping declares the fields of a mapping that the index does not have, after the others, for documents
// that are added later; Commit makes them visible. In existing fields, boost, search_analyzer, ignore_above and copy_to
// take the values in m, or else their defaults; other parameters must be the same. Existing documents stay indexed by
// the former parameters. After a change of ignore_above or copy_to, VerifyRebuild is an error until they are written
// again. The member dynamic has no effect. The error wraps ErrBadInput and names the field and the parameter, or is
// ErrTooManyFields.
func (ix *Index) AddMapping(ctx context.Context, m *Mapping) error {
	return ix.write(ctx, 1, func(w *index.Writer, _ int) error { return w.AddMapping(m.m) })
}

// AddMapping is AddFields for the fields of a mapping. Fields that the index has are changed as Index.AddMapping does.
func (w *Writer) AddMapping(ctx context.Context, m *Mapping) error {
	return w.store.AddMapping(ctx, m.m)
}

// Mapping returns the fields of the index, also those that are not visible yet. The error wraps ErrDown
// or ErrClosed.
func (w *Writer) Mapping() (*Mapping, error) {
	m, err := w.store.Mapping()
	if err != nil {
		return nil, err
	}
	return &Mapping{m}, nil
}
