package index

import (
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
)

// Fields of an index only grow: they are added behind the declared ones. A segment has the fields
// that the index had when the segment was written, the first of today's. It has no lists of later
// ones, and its documents have no tokens in them, even if their stored text names the field.

// Declared returns the fields but the default one, in the order of declaration.
func (o *Options) Declared() []mapping.Field {
	if o.Mapping != nil {
		return o.Mapping.Fields()
	}
	return mapping.Texts(o.Fields)
}

// FieldMapping returns Mapping, or one of the texts that Fields names.
func (o *Options) FieldMapping() *mapping.Mapping { return o.Schema().FieldMapping() }

// NewFields returns the fields that are not declared, each once, in their order. Others are left out,
// whatever their type. The error wraps base.ErrBadInput if the index cannot have them; it is
// base.ErrTooManyFields if they are too many.
func (o *Options) NewFields(fields []mapping.Field) ([]mapping.Field, error) {
	var added []mapping.Field
	declared := o.declares()
	for i := range fields {
		f := &fields[i]
		if declared(f.Name) || slices.ContainsFunc(added, func(a mapping.Field) bool { return a.Name == f.Name }) {
			continue
		}
		if err := mapping.CheckName(f.Name); err != nil {
			return nil, err
		}
		added = append(added, *f)
	}
	if len(added) == 0 {
		return nil, nil
	}
	if o.Weighted() {
		return nil, fmt.Errorf("an index of weights has no fields %q: %w", namesOf(added), base.ErrBadInput)
	}
	_, err := o.With(added)
	if err != nil {
		return nil, err
	}
	return added, nil
}

func (o *Options) declares() func(name string) bool {
	if o.Mapping == nil {
		return func(name string) bool { return slices.Contains(o.Fields, name) }
	}
	return func(name string) bool {
		_, ok := o.Mapping.Field(name)
		return ok
	}
}

func namesOf(fields []mapping.Field) []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	return names
}

// With returns the options with fields that are not declared. Errors are as for NewFields.
func (o *Options) With(fields []mapping.Field) (Options, error) {
	grown := *o
	if o.Mapping == nil && mapping.Plain(fields) {
		if len(o.Fields)+len(fields) >= base.MaxFields {
			return grown, base.ErrTooManyFields
		}
		grown.Fields = append(slices.Clip(o.Fields), namesOf(fields)...)
		return grown, nil
	}
	m, err := o.FieldMapping().With(fields)
	if err != nil {
		return grown, err
	}
	grown.Mapping, grown.Fields = m, m.TermFields()
	return grown, grown.validateMapping()
}

// Revised returns the options with another mapping, which has the fields of the former one as the first.
func (o *Options) Revised(m *mapping.Mapping) (Options, error) {
	revised := *o
	dynamic := mapping.Dynamic("")
	if o.Mapping != nil {
		dynamic = o.Mapping.Dynamic()
	}
	revised.Mapping, revised.Fields = m.WithDynamic(dynamic), m.TermFields()
	return revised, revised.validateMapping()
}

// addFields declares the fields of a schema that are not, and takes fields that it changed; nil: none.
func (m *manifest) addFields(s *inverter.Schema) (changed bool, err error) {
	if s == nil {
		return false, nil
	}
	added, err := m.Options.NewFields(s.Declared())
	if err != nil {
		return false, err
	}
	before := m.Options
	if len(added) > 0 {
		if m.Options, err = m.Options.With(added); err != nil {
			return false, err
		}
	}
	if s.Revision() > before.revision() {
		if m.Options, err = m.Options.Revised(s.Mapping); err != nil {
			return false, err
		}
	}
	m.markFormer(&before)
	m.Grown += len(added)
	return len(added) > 0 || m.Options.revision() != before.revision(), nil
}

// revision is as of mapping.Mapping.
func (o *Options) revision() uint64 {
	if o.Mapping == nil {
		return 0
	}
	return o.Mapping.Revision()
}

// changesFields reports whether a commit has other fields than the snapshot.
func (m *manifest) changesFields(s *Snapshot) bool {
	return m.Grown != s.grown || m.Options.revision() != s.Options.revision()
}

// grownTerms counts the fields with posting lists among the last Grown.
func (m *manifest) grownTerms() (n int) {
	fields := m.Options.Declared()
	for i := len(fields) - m.Grown; i < len(fields); i++ {
		if fields[i].HasTerms() {
			n++
		}
	}
	return n
}

// AddFields declares further texts for documents that are added later, and is committed with them.
// Names that are declared have no effect. Errors are as for Options.NewFields.
func (w *Writer) AddFields(names ...string) error { return w.declare(mapping.Texts(names)) }

func (w *Writer) declare(fields []mapping.Field) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session == nil {
		return errWriterClosed
	}
	added, err := w.options.NewFields(fields)
	if err != nil || len(added) == 0 {
		return err
	}
	options, err := w.options.With(added)
	if err != nil {
		return err
	}
	b, err := w.begun()
	if err != nil {
		return err
	}
	w.options = options
	b.Use(options.Schema())
	return nil
}

// AddMapping is AddFields for the fields of a mapping. Those that are declared are changed as mapping.Updated does; the
// error is a *mapping.ConflictError.
func (w *Writer) AddMapping(m *mapping.Mapping) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session == nil {
		return errWriterClosed
	}
	options, changes, err := w.options.Updated(m)
	if err != nil || len(changes) == 0 {
		return err
	}
	b, err := w.begun()
	if err != nil {
		return err
	}
	w.options = options
	b.Use(options.Schema())
	return nil
}

// Updated returns the options with an update of the mapping, and the fields that are new or changed. The error is a
// *mapping.ConflictError, or as of NewFields.
func (o *Options) Updated(m *mapping.Mapping) (Options, []mapping.Field, error) {
	now := o.FieldMapping()
	next, changes, err := now.Updated(m)
	switch {
	case err != nil || len(changes) == 0:
		return *o, nil, err
	case next.Revision() == now.Revision():
		if changes, err = o.NewFields(changes); err != nil {
			return *o, nil, err
		}
		options, err := o.With(changes)
		return options, changes, err
	case o.Weighted():
		return *o, nil, fmt.Errorf("an index of weights has no fields: %w", base.ErrBadInput)
	}
	options, err := o.Revised(next)
	return options, changes, err
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
	fields := s.Options.Declared()
	d := &declarations{numFields: 1 + len(fields) - s.grown}
	for i := d.numFields - 1; i < len(fields); i++ {
		first, err := s.firstWith(&fields[i])
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

// firstWith returns the place of the first live document with a value in a field.
func (s *Snapshot) firstWith(f *mapping.Field) (writeOrder, error) {
	found := errors.New("found")
	id := base.FieldID(1 + slices.Index(s.Options.Fields, f.Name))
	for i := range s.Segments {
		v := &s.Segments[i]
		has, err := having(v, f, id)
		if err != nil {
			return writeOrder{}, err
		}
		if has == nil {
			continue
		}
		numbers, _, err := v.Written()
		if err != nil {
			return writeOrder{}, err
		}
		at := writeOrder{segment: i}
		err = v.eachWritten(0, v.NumDocs(), func(doc base.DocID) error {
			if !has(doc) {
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

// having reports for documents of the segment whether they have a value in a field: a token, or a value
// of its column. It is nil if none has.
func having(v *View, f *mapping.Field, id base.FieldID) (func(base.DocID) bool, error) {
	if f.HasTerms() {
		if int(id) >= len(v.Meta().Fields) || v.Meta().Fields[id].NumDocs == 0 {
			return nil, nil
		}
		return func(doc base.DocID) bool { return v.Length(id, doc) > 0 }, v.CheckLengths(id)
	}
	c, ok, err := v.Column(f.Name)
	if err != nil || !ok {
		return nil, err
	}
	words := make([]uint64, (v.NumDocs()+63)/64)
	return func(doc base.DocID) bool { return words[doc/64]>>(doc%64)&1 != 0 }, c.Exists(words)
}

// number of a document in the order of writing; numbers is as of segment.Written.
func number(numbers []uint32, doc base.DocID) int {
	if numbers == nil {
		return int(doc)
	}
	return int(numbers[doc])
}

// declaredOf counts, at least, the fields that a document was written with and has tokens in.
func declaredOf(o *Options, s *segment.Segment, doc base.DocID) int {
	n := len(s.Meta().Fields)
	for n > 1 && s.Length(base.FieldID(n-1), doc) == 0 {
		n--
	}
	if o.Mapping == nil || n == 1 {
		return n
	}
	place, _ := o.Mapping.Number(o.Fields[n-2])
	return place + 2
}
