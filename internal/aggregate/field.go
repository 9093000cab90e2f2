package aggregate

import (
	"time"

	"github.com/griffin-search/griffin/internal/mapping"
)

// fieldOf finds a field with a column.
func (e *env) fieldOf(r *Request, name string) (*mapping.Field, error) {
	f, ok := e.index.Field(name)
	switch {
	case !ok:
		return nil, r.errorf("field [%s] is not in the mapping", name)
	case f.Type == mapping.Text:
		return nil, r.errorf("field [%s] is a text, which has no column: use a keyword, such as [%s.keyword]", name, name)
	case f.NoDocValues:
		return nil, r.errorf("field [%s] has no column: its mapping has \"doc_values\": false", name)
	case !f.HasOrdinals() && !f.HasNumbers():
		return nil, r.errorf("field [%s] of type %s has no column", name, f.Type)
	}
	return f, nil
}

// numberField finds a field of numbers, dates or booleans.
func (e *env) numberField(r *Request, name string) (*mapping.Field, error) {
	f, err := e.fieldOf(r, name)
	if err == nil && (!f.HasNumbers() || f.Type == mapping.GeoPoint) {
		err = r.errorf("field [%s] of type %s is not a number, a date or a boolean", name, f.Type)
	}
	return f, err
}

// number reads a number of a request; a date may have date maths.
func (e *env) number(f *mapping.Field, text string, zone *time.Location) (int64, error) {
	if f.Type == mapping.Date {
		return f.Date(text, mapping.Clock{Now: e.index.Now, Zone: zone})
	}
	return f.Number(text)
}

// layoutOf returns what writes numbers of a field as text; nil: they are numbers only.
func layoutOf(r *Request, f *mapping.Field, format string) (*mapping.Field, error) {
	if format == "" {
		if f.Type == mapping.Date || f.Type == mapping.Boolean {
			return f, nil
		}
		return nil, nil
	}
	if f.Type != mapping.Date {
		return nil, r.errorf("parameter [format]: field [%s] of type %s has no formats", f.Name, f.Type)
	}
	layout, err := f.WithFormat(format)
	return layout, r.wrap(err)
}
