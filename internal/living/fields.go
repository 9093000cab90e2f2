package living

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/wal"
)

// fields are the declared ones in the order of the log. The leader of a group has them, and replay before.
// They do not change: with returns others.
type fields struct {
	options index.Options    // with these fields
	schema  *inverter.Schema // of options
	known   map[string]bool
}

func newFields(o index.Options) fields {
	f := fields{options: o, schema: o.Schema(), known: map[string]bool{}}
	for _, field := range o.Declared() {
		f.known[field.Name] = true
	}
	return f
}

// missing returns the fields that are not declared, each once. The error wraps base.ErrBadInput.
func (f *fields) missing(wanted []mapping.Field) ([]mapping.Field, error) {
	for i := range wanted {
		if !f.known[wanted[i].Name] {
			return f.options.NewFields(wanted)
		}
	}
	return nil, nil
}

// with returns the fields with those that were missing.
func (f *fields) with(missing []mapping.Field) (fields, error) {
	if len(missing) == 0 {
		return *f, nil
	}
	o, err := f.options.With(missing)
	if err != nil {
		return *f, err
	}
	return newFields(o), nil
}

// revised returns the fields with new and changed ones.
func (f *fields) revised(changes []mapping.Field) (fields, error) {
	m, err := f.options.FieldMapping().Revised(changes)
	if err != nil {
		return *f, err
	}
	o, err := f.options.Revised(m)
	if err != nil {
		return *f, err
	}
	return newFields(o), nil
}

// use replaces the fields. Apply checks documents by them.
func (s *Store) use(f fields) {
	s.fields = f
	s.schema.Store(f.schema)
}

// AddFields declares texts, durably, for documents of later calls of Apply. Names that are declared
// have no effect. Errors are as of Apply; base.ErrBadInput for a field that is not valid, and
// base.ErrTooManyFields, in which case none is declared.
func (s *Store) AddFields(ctx context.Context, names ...string) error {
	results, err := s.Apply(ctx, []Op{{Kind: Declare, Fields: mapping.Texts(names)}})
	if err != nil {
		return err
	}
	return results[0].Err
}

// AddMapping is AddFields for the fields of a mapping. Those that are declared are changed as mapping.Updated does; the
// error is a *mapping.ConflictError.
func (s *Store) AddMapping(ctx context.Context, m *mapping.Mapping) error {
	results, err := s.Apply(ctx, []Op{{Kind: Declare, Fields: m.Fields(), Update: true}})
	if err != nil {
		return err
	}
	return results[0].Err
}

func checkFields(fields []mapping.Field) error {
	for i := range fields {
		if err := mapping.CheckName(fields[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// declare returns the fields, with the fields of an operation, which are in its record from then on.
func (f *fields) declare(e *entry) (fields, error) {
	if e.op.Update {
		return f.update(e)
	}
	missing, err := f.missing(e.op.Fields)
	if err != nil || len(missing) == 0 {
		return *f, err
	}
	next, err := f.with(missing)
	if err != nil {
		return *f, err
	}
	e.declares, e.typed, err = encodeFields(missing)
	if err != nil {
		return *f, err
	}
	if size := len(e.declares) + len(e.payload); size > wal.MaxPayloadBytes-binary.MaxVarintLen64 {
		return *f, fmt.Errorf("%d bytes with %d new fields, at most %d: %w", size, len(missing), wal.MaxPayloadBytes, base.ErrBadInput)
	}
	return next, nil
}

// update is declare for an operation that can change fields.
func (f *fields) update(e *entry) (fields, error) {
	m, err := mapping.NewUpdate("", e.op.Fields)
	if err != nil {
		return *f, err
	}
	options, changes, err := f.options.Updated(m)
	if err != nil || len(changes) == 0 {
		return *f, err
	}
	next := newFields(options)
	if next.schema.Revision() == f.schema.Revision() {
		e.declares, e.typed, err = encodeFields(changes)
		return next, err
	}
	e.revises = true
	text, err := json.Marshal(changes)
	e.declares = append(binary.AppendUvarint(nil, uint64(len(text))), text...)
	return next, err
}

// declare gives the following documents of a batch the fields of a schema, which has the former ones, or later
// definitions of them, as the first.
func (b *batch) declare(s *inverter.Schema) {
	if s.NumDeclared() > b.Schema().NumDeclared() || s.Revision() > b.Schema().Revision() {
		b.Use(s)
	}
}

// encodeFields encodes fields: texts as their count, and length and name of each; others, typed, as
// length and JSON of the list.
func encodeFields(fields []mapping.Field) (dst []byte, typed bool, err error) {
	if !mapping.Plain(fields) {
		text, err := json.Marshal(fields)
		return append(binary.AppendUvarint(nil, uint64(len(text))), text...), true, err
	}
	dst = binary.AppendUvarint(nil, uint64(len(fields)))
	for i := range fields {
		dst = appendText(dst, fields[i].Name)
	}
	return dst, false, nil
}

// decodeTyped decodes the list of encodeFields.
func (r *recordReader) decodeTyped() (fields []mapping.Field) {
	d := json.NewDecoder(bytes.NewReader(r.bytes()))
	d.DisallowUnknownFields()
	if d.Decode(&fields) != nil {
		r.src, r.bad = nil, true
	}
	return fields
}

// cutFields returns the fields that a record declares, and the record without them; its kind is 0 if it
// declares only. The error wraps base.ErrCorrupt, or base.ErrVersion for another type of record.
func cutFields(kind byte, payload []byte) (declared []mapping.Field, restKind byte, rest []byte, err error) {
	r := recordReader{src: payload}
	switch kind {
	case recordFields, recordFieldsIndex, recordFieldsMarked:
		for n := r.count(1); n > 0 && !r.bad; n-- {
			declared = append(declared, mapping.Field{Name: r.text()})
		}
	case recordTyped, recordTypedIndex, recordTypedMarked, recordRevised:
		declared = r.decodeTyped()
	case recordPlain, recordDelete, recordIndex, recordMarked:
		return nil, kind, payload, nil
	default:
		return nil, 0, nil, fmt.Errorf("record of type %d: %w", kind, base.ErrVersion)
	}
	switch kind {
	case recordFieldsIndex, recordTypedIndex:
		restKind = recordIndex
	case recordFieldsMarked, recordTypedMarked:
		restKind = recordMarked
	}
	if r.bad || restKind == 0 && len(r.src) > 0 {
		return nil, 0, nil, fmt.Errorf("fields of a record of type %d: %w", kind, base.ErrCorrupt)
	}
	return declared, restKind, r.src, nil
}

// redo returns the write of a record, and the fields that are declared then.
func (f *fields) redo(r *wal.Entry) (it item, next fields, err error) {
	declared, kind, payload, err := cutFields(r.Type, r.Payload)
	if err != nil {
		return it, *f, err
	}
	if r.Type == recordRevised {
		next, err = f.revised(declared)
	} else {
		var missing []mapping.Field
		if missing, err = f.missing(declared); err == nil {
			next, err = f.with(missing)
		}
	}
	if err != nil {
		return it, *f, fmt.Errorf("%w: %w", err, base.ErrCorrupt)
	}
	it = item{state: state{version: segment.Version{Seq: uint64(r.Seq)}}, size: len(r.Payload), schema: next.schema}
	if kind == 0 {
		return it, next, nil
	}
	number, d, err := decodeRecord(kind, payload)
	if err != nil {
		return it, *f, err
	}
	it.id, it.state.version.Number = d.ID, number
	if kind != recordDelete {
		it.state.doc = d
	}
	return it, next, nil
}
