package index

import (
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
)

// Fields of an index only grow: AddFields appends names to Options.Fields. A segment has the fields
// that the index had when the segment was written, the first of today's. It has no lists of later
// ones, and its documents have no tokens in them, even if their stored text names the field.

// MaxFieldNameBytes bounds the name of a new field.
const MaxFieldNameBytes = 1 << 10

// NewFields returns the names that are not declared, each once, in their order. The error wraps
// base.ErrBadInput if the index cannot have them; it is base.ErrTooManyFields if they are too many.
func (o *Options) NewFields(names []string) ([]string, error) {
	var added []string
	for _, name := range names {
		if slices.Contains(o.Fields, name) || slices.Contains(added, name) {
			continue
		}
		if err := CheckFieldName(name); err != nil {
			return nil, err
		}
		added = append(added, name)
	}
	switch {
	case len(added) == 0:
	case o.Weighted():
		return nil, fmt.Errorf("an index of weights has no fields %q: %w", added, base.ErrBadInput)
	case len(o.Fields)+len(added) >= base.MaxFields:
		return nil, base.ErrTooManyFields
	}
	return added, nil
}

// CheckFieldName returns an error that wraps base.ErrBadInput unless a field can have the name.
func CheckFieldName(name string) error {
	switch {
	case !validFieldName(name):
		return fmt.Errorf("field name %.80q: want letters, digits, '_', '-' or '.': %w", name, base.ErrBadInput)
	case len(name) > MaxFieldNameBytes:
		return fmt.Errorf("field name %.80q of %d bytes, at most %d: %w", name, len(name), MaxFieldNameBytes, base.ErrBadInput)
	}
	return nil
}

// addFields appends the names that are not declared.
func (m *manifest) addFields(names []string) (added []string, err error) {
	if added, err = m.Options.NewFields(names); len(added) > 0 {
		m.Options.Fields = append(slices.Clip(m.Options.Fields), added...)
		m.Grown += len(added)
	}
	return added, err
}

// AddFields declares further fields for documents that are added later, and is committed with them.
// Names that are declared have no effect. Errors are as for Options.NewFields.
func (w *Writer) AddFields(names ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session == nil {
		return errWriterClosed
	}
	options := w.session.ix.Options()
	options.Fields = w.schema.Fields[1:]
	added, err := options.NewFields(names)
	if err != nil || len(added) == 0 {
		return err
	}
	b, err := w.begun()
	if err != nil {
		return err
	}
	b.AddFields(added)
	w.schema = b.Schema
	return nil
}

// writeOrder is a place in the order of writing: a segment, and a number in it.
type writeOrder struct{ segment, number int }

func (a writeOrder) before(b writeOrder) bool {
	return a.segment < b.segment || a.segment == b.segment && a.number < b.number
}

// declarations are the places of the first documents with the fields that were added.
type declarations struct {
	numFields int          // of the index when it was made, with the default one
	first     []writeOrder // of the later ones, rising
}

// of counts the fields that a document was written with. Fields that were declared a little
// before do not count: none of the documents in between has them.
func (d *declarations) of(at writeOrder) int {
	n, _ := slices.BinarySearchFunc(d.first, at, func(first, at writeOrder) int {
		if at.before(first) {
			return 1
		}
		return -1
	})
	return d.numFields + n
}

// declarations finds the documents from which on the fields are used that the index got after it
// was made. A document with a field was written after all fields before this one were declared.
func (s *Snapshot) declarations() (*declarations, error) {
	d := &declarations{numFields: len(s.Fields) - s.grown}
	for f := d.numFields; f < len(s.Fields); f++ {
		first, err := s.firstWith(base.FieldID(f))
		if err != nil {
			return nil, err
		}
		d.first = append(d.first, first)
	}
	for i := len(d.first) - 2; i >= 0; i-- {
		if d.first[i+1].before(d.first[i]) {
			d.first[i] = d.first[i+1]
		}
	}
	return d, nil
}

// firstWith returns the place of the first live document with tokens in a field.
func (s *Snapshot) firstWith(f base.FieldID) (writeOrder, error) {
	found := errors.New("found")
	for i := range s.Segments {
		v := &s.Segments[i]
		if int(f) >= len(v.Meta().Fields) || v.Meta().Fields[f].NumDocs == 0 {
			continue
		}
		if err := v.CheckLengths(f); err != nil {
			return writeOrder{}, err
		}
		numbers, _, err := v.Written()
		if err != nil {
			return writeOrder{}, err
		}
		at := writeOrder{segment: i}
		err = v.eachWritten(0, v.NumDocs(), func(doc base.DocID) error {
			if v.Length(f, doc) == 0 {
				return nil
			}
			at.number = number(numbers, doc)
			return found
		})
		if err != nil {
			if errors.Is(err, found) {
				err = nil
			}
			return at, err
		}
	}
	return writeOrder{segment: len(s.Segments)}, nil
}

// number of a document in the order of writing; numbers is as of segment.Written.
func number(numbers []uint32, doc base.DocID) int {
	if numbers == nil {
		return int(doc)
	}
	return int(numbers[doc])
}

// declaredOf returns, at least, the fields that a document was written with and has.
func declaredOf(s *segment.Segment, doc base.DocID) int {
	n := len(s.Meta().Fields)
	for n > 1 && s.Length(base.FieldID(n-1), doc) == 0 {
		n--
	}
	return n
}
