package living

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/wal"
)

// fields are the declared names in the order of the log, without the default field. The leader of a
// group has them, and replay before.
type fields struct {
	options index.Options // with these fields
	known   map[string]bool
}

func newFields(o index.Options) fields {
	o.Fields = slices.Clip(o.Fields)
	f := fields{options: o, known: make(map[string]bool, len(o.Fields))}
	for _, name := range o.Fields {
		f.known[name] = true
	}
	return f
}

// names stay as they are: add appends to them.
func (f *fields) names() []string { return f.options.Fields }

// missing returns the names that are not declared, each once. The error wraps base.ErrBadInput.
func (f *fields) missing(names []string) ([]string, error) {
	for _, name := range names {
		if !f.known[name] {
			return f.options.NewFields(names)
		}
	}
	return nil, nil
}

func (f *fields) add(names []string) {
	f.options.Fields = append(f.options.Fields, names...)
	for _, name := range names {
		f.known[name] = true
	}
}

// cut leaves the first n names.
func (f *fields) cut(n int) {
	for _, name := range f.options.Fields[n:] {
		delete(f.known, name)
	}
	f.options.Fields = f.options.Fields[:n:n]
}

// AddFields declares fields, durably, for documents of later calls of Apply. Names that are declared
// have no effect. Errors are as of Apply; base.ErrBadInput for a name that is not valid, and
// base.ErrTooManyFields, in which case none is declared.
func (s *Store) AddFields(ctx context.Context, names ...string) error {
	results, err := s.Apply(ctx, []Op{{Kind: Declare, Fields: names}})
	if err != nil {
		return err
	}
	return results[0].Err
}

func checkFields(names []string) error {
	for _, name := range names {
		if err := index.CheckFieldName(name); err != nil {
			return err
		}
	}
	return nil
}

// declare adds the fields of an operation, which are in its record from then on.
func (f *fields) declare(e *entry) error {
	missing, err := f.missing(e.op.Fields)
	if err != nil || len(missing) == 0 {
		return err
	}
	size := len(e.payload)
	for _, name := range missing {
		size += binary.MaxVarintLen64 + len(name)
	}
	if size > wal.MaxPayloadBytes-binary.MaxVarintLen64 {
		return fmt.Errorf("%d bytes with %d new fields, at most %d: %w", size, len(missing), wal.MaxPayloadBytes, base.ErrBadInput)
	}
	f.add(missing)
	e.missing = missing
	return nil
}

// declare gives the following documents of a batch the fields, which have the former as a prefix.
func (b *batch) declare(names []string) {
	if have := len(b.Schema().Fields) - 1; len(names) > have {
		b.AddFields(names[have:])
	}
}

// encodeFields encodes names: their count, and length and bytes of each.
func encodeFields(names []string) []byte {
	dst := binary.AppendUvarint(nil, uint64(len(names)))
	for _, name := range names {
		dst = appendText(dst, name)
	}
	return dst
}

// cutFields returns the names that a record declares, and the record without them; its kind is 0 if it
// declares only. The error wraps base.ErrCorrupt, or base.ErrVersion for another type of record.
func cutFields(kind byte, payload []byte) (names []string, restKind byte, rest []byte, err error) {
	switch kind {
	case recordFields:
	case recordFieldsIndex:
		restKind = recordIndex
	case recordPlain, recordDelete, recordIndex:
		return nil, kind, payload, nil
	default:
		return nil, 0, nil, fmt.Errorf("record of type %d: %w", kind, base.ErrVersion)
	}
	r := recordReader{src: payload}
	for n := r.count(1); n > 0 && !r.bad; n-- {
		names = append(names, r.text())
	}
	if r.bad || kind == recordFields && len(r.src) > 0 {
		return nil, 0, nil, fmt.Errorf("fields of a record of type %d: %w", kind, base.ErrCorrupt)
	}
	return names, restKind, r.src, nil
}

// redo returns the write of a record, with the fields that are declared then.
func (f *fields) redo(r *wal.Entry) (it item, err error) {
	names, kind, payload, err := cutFields(r.Type, r.Payload)
	if err != nil {
		return it, err
	}
	missing, err := f.missing(names)
	if err != nil {
		return it, fmt.Errorf("%w: %w", err, base.ErrCorrupt)
	}
	f.add(missing)
	it = item{state: state{version: segment.Version{Seq: uint64(r.Seq)}}, size: len(r.Payload), fields: f.names()}
	if kind == 0 {
		return it, nil
	}
	number, d, err := decodeRecord(kind, payload)
	if err != nil {
		return it, err
	}
	it.id, it.state.version.Number = d.ID, number
	if kind != recordDelete {
		it.state.doc = d
	}
	return it, nil
}
