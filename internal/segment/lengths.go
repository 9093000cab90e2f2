package segment

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
)

// fieldLengths are the lengths of the documents in a field.
type fieldLengths struct {
	array   // of a unit field, only the place of a bit a document: whether it has a value
	unit    bool
	checked atomic.Bool
}

// lengthBytes is the size of a field's lengths.
func lengthBytes(numDocs int, unit bool) uint64 {
	if unit {
		return 8 * ((uint64(numDocs) + 63) / 64)
	}
	return 4 * uint64(numDocs)
}

// openLengths maps the lengths of each field, aligned to 64 bytes.
func (s *Segment) openLengths(f *sealed.File) error {
	s.lengths = make([]fieldLengths, len(s.meta.Fields))
	end := uint64(0)
	for i := range s.lengths {
		l := &s.lengths[i]
		l.unit = s.meta.Fields[i].UnitLengths
		l.array = array{file: f, offset: (end + 63) &^ 63, n: s.meta.NumDocs}
		end = l.end()
	}
	if f.Len() != end {
		return fmt.Errorf("%s: %d bytes for %d fields of %d documents: %w", f.Name(), f.Len(), len(s.lengths), s.meta.NumDocs, base.ErrCorrupt)
	}
	return nil
}

// end is the offset of the first byte after the lengths.
func (l *fieldLengths) end() uint64 { return l.offset + lengthBytes(l.n, l.unit) }

func (l *fieldLengths) check() error { return l.file.Check(l.offset, lengthBytes(l.n, l.unit)) }

// at requires check.
func (l *fieldLengths) at(doc base.DocID) uint32 {
	if !l.unit {
		return l.values()[doc]
	}
	word := binary.LittleEndian.Uint64(l.file.Bytes()[l.offset+8*uint64(doc/64):])
	return uint32(word >> (doc % 64) & 1)
}

// exact returns the length of each document.
func (l *fieldLengths) exact() []uint32 {
	if !l.unit {
		return l.values()
	}
	lengths := make([]uint32, l.n)
	for doc := range lengths {
		lengths[doc] = l.at(base.DocID(doc))
	}
	return lengths
}

// shared are the ones of all unit fields of the process.
var shared struct {
	mu   sync.Mutex
	ones []uint32
}

// ones returns n ones, not to be changed.
func ones(n int) []uint32 {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if len(shared.ones) < n {
		shared.ones = make([]uint32, n+n/8)
		for i := range shared.ones {
			shared.ones[i] = 1
		}
	}
	return shared.ones[:n:n]
}

// Lengths returns each document's tokens in a field; nil without the field, because the index got it
// after the segment was written. In a unit field all are 1, also without a value.
// It requires a successful CheckLengths, or Find in the field.
func (s *Segment) Lengths(f base.FieldID) []uint32 {
	if int(f) >= len(s.lengths) {
		return nil
	}
	if s.lengths[f].unit {
		return ones(s.meta.NumDocs)
	}
	return s.lengths[f].values()
}

// Length is a document's tokens in a field, 0 without the field; of a unit field 1 with a value, or
// 0. It requires CheckLengths.
func (s *Segment) Length(f base.FieldID, doc base.DocID) uint32 {
	if int(f) >= len(s.lengths) {
		return 0
	}
	return s.lengths[f].at(doc)
}

// CheckLengths verifies a field's lengths on the first call (about 50 µs for a million
// documents in memory).
func (s *Segment) CheckLengths(f base.FieldID) error {
	if int(f) >= len(s.lengths) {
		return nil
	}
	l := &s.lengths[f]
	if l.checked.Load() {
		return nil
	}
	if err := l.check(); err != nil {
		return fmt.Errorf("segment %s: %w", s.dir, err)
	}
	l.checked.Store(true)
	return nil
}

// unitLengths reports whether Write stores a bit a document of the field.
func (o *Options) unitLengths(field int) bool {
	return field < len(o.UnitLengths) && o.UnitLengths[field]
}
