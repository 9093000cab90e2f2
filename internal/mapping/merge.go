package mapping

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// ConflictError means that a mapping cannot be changed as an update wants. It wraps base.ErrBadInput.
type ConflictError struct{ Reason string }

// Error returns the reason.
func (e *ConflictError) Error() string { return e.Reason }

// Unwrap returns base.ErrBadInput.
func (e *ConflictError) Unwrap() error { return base.ErrBadInput }

// Updated returns the mapping after an update, with OpenSearch's rules, and the fields that are new or changed: new
// fields are added behind the others; in existing fields, boost, search_analyzer, ignore_above and copy_to take the
// values of the update, or else their defaults. Other parameters must be equal. Multi-fields that the update leaves out
// stay. Its Dynamic has no effect. The error is a *ConflictError, or wraps base.ErrBadInput.
func (m *Mapping) Updated(update *Mapping) (*Mapping, []Field, error) {
	var changes []Field
	for i := range update.fields {
		f := &update.fields[i]
		now, ok := m.Field(f.Name)
		switch {
		case !ok && f.Type == Object && m.objects[f.Name]: // it is one already
		case !ok:
			if err := m.checkNew(f); err != nil {
				return nil, nil, err
			}
			changes = append(changes, *f)
		default:
			if err := now.conflict(f); err != nil {
				return nil, nil, err
			}
			if !now.equal(f) {
				changes = append(changes, *f)
			}
		}
	}
	next, err := m.Revised(changes)
	return next, changes, err
}

// Revised returns the mapping with fields that are new, or in the place of those with their names. The error wraps
// base.ErrBadInput.
func (m *Mapping) Revised(changes []Field) (*Mapping, error) {
	fields, revision, shape := slices.Clone(m.fields), m.revision, m.shape
	for i := range changes {
		f := &changes[i]
		at, ok := m.byName[f.Name]
		if !ok {
			fields = append(fields, *f)
			continue
		}
		now := &m.fields[at]
		if now.equal(f) {
			continue
		}
		if revision == m.revision {
			revision++
		}
		if now.IgnoreAbove != f.IgnoreAbove || !slices.Equal(now.CopyTo, f.CopyTo) {
			shape = revision
		}
		fields[at] = *f
	}
	next, err := m.made(fields)
	if err != nil {
		return nil, err
	}
	next.revision, next.shape = revision, shape
	return next, nil
}

// checkNew: a field cannot become an object, or an object a field.
func (m *Mapping) checkNew(f *Field) error {
	if around := m.Around(f.Name); around != nil && around.Name != f.Of {
		return cannotChange(around, Object)
	}
	if f.Type != Object && m.objects[f.Name] {
		return cannotChange(&Field{Name: f.Name, Type: Object}, f.Type)
	}
	return nil
}

func cannotChange(f *Field, to Type) error {
	return &ConflictError{fmt.Sprintf("mapper [%s] cannot be changed from type [%s] to [%s]", f.Name, f.Type, to)}
}

// conflict returns an error that names every parameter that differs and cannot be changed.
func (f *Field) conflict(update *Field) error {
	if f.Type != update.Type || f.Of != update.Of {
		return cannotChange(f, update.Type)
	}
	var reasons strings.Builder
	for _, p := range []struct{ name, from, to string }{
		{"analyzer", or(f.Analyzer, "default"), or(update.Analyzer, "default")},
		{"normalizer", or(f.Normalizer, "null"), or(update.Normalizer, "null")},
		{"index", strconv.FormatBool(!f.NoIndex), strconv.FormatBool(!update.NoIndex)},
		{"doc_values", strconv.FormatBool(!f.NoDocValues), strconv.FormatBool(!update.NoDocValues)},
		{"null_value", nullText(f.NullValue), nullText(update.NullValue)},
		{"format", or(f.Format, DefaultFormat), or(update.Format, DefaultFormat)},
		{"weight_scale", fmt.Sprint(f.Scale()), fmt.Sprint(update.Scale())},
	} {
		if p.from != p.to {
			fmt.Fprintf(&reasons, "\n\tCannot update parameter [%s] from [%s] to [%s]", p.name, p.from, p.to)
		}
	}
	if reasons.Len() == 0 {
		return nil
	}
	return &ConflictError{fmt.Sprintf("Mapper for [%s] conflicts with existing mapper:%s", f.Name, reasons.String())}
}

// Weight is the boost, 1 by default.
func (f *Field) Weight() float64 {
	if f.Boost == 0 {
		return 1
	}
	return f.Boost
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func nullText(v *string) string {
	if v == nil {
		return "null"
	}
	return *v
}
