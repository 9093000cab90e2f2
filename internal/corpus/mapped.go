package corpus

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Mapped is what reading records has to know of the fields that an index declares.
type Mapped struct {
	// Names stay fields of their own if they become the id or the text of a document; a title
	// does unless it has the name "title". A record with one of them needs neither title nor text.
	Names map[string]bool
	// Any: every record with a field besides the id needs neither title nor text.
	Any bool
	// Nulls take the place of null, by name.
	Nulls map[string]string
	// Whole are fields of JSON that can have objects and lists as values, by name: they get the JSON of a value and return
	// the values.
	Whole map[string]func(json []byte) ([]string, error)
}

func (m *Mapped) has(fields []field, id []byte) bool {
	if m == nil {
		return false
	}
	for i := range fields {
		if m.Any && (id == nil || string(fields[i].name) != string(id)) || m.Names[string(fields[i].name)] {
			return true
		}
	}
	return false
}

// keeps reports whether a part of a document stays a field.
func (m *Mapped) keeps(name []byte) bool { return m != nil && m.Names[string(name)] }

// isWhole reports whether a field has values that are no texts, such as points: they are no part of a document.
func (m *Mapped) isWhole(name []byte) bool { return m != nil && m.Whole[string(name)] != nil }

// apply replaces nulls and whole values by the values that they stand for.
func (m *Mapped) apply(fields []field) ([]field, *RecordError) {
	if m == nil || len(m.Nulls)+len(m.Whole) == 0 {
		return fields, nil
	}
	var expanded []field // nil: they stay in place
	for i, f := range fields {
		values, rec := m.values(&f)
		switch {
		case rec != nil:
			return nil, rec
		case values == nil && expanded == nil:
			continue
		case values == nil:
			expanded = append(expanded, f)
			continue
		}
		if expanded == nil {
			expanded = append(make([]field, 0, len(fields)+len(values)), fields[:i]...)
		}
		for _, v := range values {
			expanded = append(expanded, field{name: f.name, value: []byte(v), kind: '"'})
		}
	}
	if expanded != nil {
		return expanded, nil
	}
	return fields, nil
}

// values returns nil if a field stays as it is.
func (m *Mapped) values(f *field) ([]string, *RecordError) {
	if f.kind == 'n' {
		if null, ok := m.Nulls[string(f.name)]; ok {
			return []string{null}, nil
		}
		return nil, nil
	}
	whole := m.Whole[string(f.name)]
	if whole == nil || f.kind != '{' && f.kind != '[' || len(f.value) == 0 {
		return nil, nil
	}
	values, err := whole(f.value)
	if err != nil {
		return nil, &RecordError{Field: shortName(string(f.name)), Err: fmt.Errorf("%w: %w", err, base.ErrBadInput)}
	}
	if values == nil {
		values = []string{}
	}
	return values, nil
}
