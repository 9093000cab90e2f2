package index

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
)

// columnComparer compares the values of a field in a segment with those in the rebuilt one.
type columnComparer struct {
	field     *mapping.Field
	got, want columnReader
}

// columnReader reads the values of documents as texts.
type columnReader struct {
	column *column.Column // nil: no document has a value
	cursor *column.Cursor
	texts  []string
}

func openColumn(s *segment.Segment, name string) (r columnReader, err error) {
	c, ok, err := s.Column(name)
	if err == nil && ok {
		r.column, r.cursor = c, c.Cursor()
	}
	return r, err
}

// columnComparers returns one for each field with values.
func (c *comparer) columnComparers(v *View) ([]columnComparer, error) {
	var all []columnComparer
	fields := c.s.Options.Declared()
	for i := range fields {
		f := &fields[i]
		if !f.HasNumbers() && !f.HasOrdinals() {
			continue
		}
		got, err := openColumn(v.Segment, f.Name)
		if err != nil {
			return nil, err
		}
		want, err := openColumn(c.fresh.Segment, f.Name)
		if err != nil {
			return nil, err
		}
		if got.column != nil || want.column != nil {
			all = append(all, columnComparer{field: f, got: got, want: want})
		}
	}
	return all, nil
}

// values are valid until the next call.
func (r *columnReader) values(f *mapping.Field, doc base.DocID) ([]string, error) {
	r.texts = r.texts[:0]
	if r.column == nil {
		return nil, nil
	}
	values, err := r.cursor.Values(doc)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		var text []byte
		if r.column.Kind() == column.Ordinals {
			if text, err = r.column.Term(v); err != nil {
				return nil, err
			}
			text = f.AppendBytes(nil, text)
		} else {
			text = f.AppendNumber(nil, v)
		}
		r.texts = append(r.texts, string(text))
	}
	return r.texts, nil
}

// compareColumns compares the values of a document.
func (d *documentComparer) compareColumns(at Difference, doc, rank base.DocID) error {
	for i := range d.columns {
		c := &d.columns[i]
		got, err := c.got.values(c.field, doc)
		if err != nil {
			return err
		}
		want, err := c.want.values(c.field, rank)
		if err != nil {
			return err
		}
		if slices.Equal(got, want) {
			continue
		}
		at.HasField, at.Field, at.What = true, c.field.Name, "values"
		at.Got, at.Want = fmt.Sprintf("%.200q", got), fmt.Sprintf("%.200q", want)
		if err := d.differ(at); err != nil {
			return err
		}
	}
	return nil
}
