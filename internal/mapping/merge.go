package mapping

import (
	"fmt"
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

// Added returns the fields of an update that m does not have. A field that m has must be equal: what is
// indexed stays as it is. The error is a *ConflictError.
func (m *Mapping) Added(update *Mapping) ([]Field, error) {
	var added []Field
	for i := range update.fields {
		f := &update.fields[i]
		now, ok := m.Field(f.Name)
		if !ok {
			if f.Type == Object && m.objects[f.Name] {
				continue // it is one already
			}
			if err := m.checkNew(f); err != nil {
				return nil, err
			}
			added = append(added, *f)
			continue
		}
		if err := now.conflict(f); err != nil {
			return nil, err
		}
	}
	return added, nil
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

// conflict returns an error that names every parameter that differs.
func (f *Field) conflict(update *Field) error {
	if f.Type != update.Type || f.Of != update.Of {
		return cannotChange(f, update.Type)
	}
	var reasons strings.Builder
	for _, p := range []struct{ name, from, to string }{
		{"analyzer", or(f.Analyzer, "default"), or(update.Analyzer, "default")},
		{"search_analyzer", or(f.SearchAnalyzer, or(f.Analyzer, "default")), or(update.SearchAnalyzer, or(update.Analyzer, "default"))},
		{"index", strconv.FormatBool(!f.NoIndex), strconv.FormatBool(!update.NoIndex)},
		{"doc_values", strconv.FormatBool(!f.NoDocValues), strconv.FormatBool(!update.NoDocValues)},
		{"ignore_above", fmt.Sprint(f.IgnoreAbove), fmt.Sprint(update.IgnoreAbove)},
		{"null_value", nullText(f.NullValue), nullText(update.NullValue)},
		{"format", or(f.Format, DefaultFormat), or(update.Format, DefaultFormat)},
		{"boost", fmt.Sprint(f.Weight()), fmt.Sprint(update.Weight())},
		{"weight_scale", fmt.Sprint(f.Scale()), fmt.Sprint(update.Scale())},
		{"copy_to", strings.Join(f.CopyTo, ","), strings.Join(update.CopyTo, ",")},
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

// Merge returns the mapping with the fields of an update behind the others, and its Dynamic if it has one.
// The error is a *ConflictError, or wraps base.ErrBadInput.
func (m *Mapping) Merge(update *Mapping) (*Mapping, error) {
	added, err := m.Added(update)
	if err != nil {
		return nil, err
	}
	merged, err := m.With(added)
	if err == nil && update.dynamic != "" {
		merged = merged.WithDynamic(update.dynamic)
	}
	return merged, err
}
