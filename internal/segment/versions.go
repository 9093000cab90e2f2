package segment

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
)

// Version says when a document was written, and how often its id was before.
type Version struct {
	// Seq is the number of the write in the index's log; 0: not from a log.
	Seq uint64
	// Number counts the writes of the id, from 1, or is a number of the caller; 0 without a Seq: not counted.
	Number uint64
}

// Count is Number, or 1 if it was not counted.
func (v Version) Count() uint64 {
	if v.Seq == 0 {
		return max(v.Number, 1)
	}
	return v.Number
}

// Versioned is a Source whose documents can have versions.
type Versioned interface {
	// HasVersions reports whether they have.
	HasVersions() bool
	// Version is called only if they have, beside other methods.
	Version(doc int) Version
}

const versionBytes = 16

// writeVersions writes the versions in DocID order if a source has any.
func (w *writer) writeVersions(context.Context) error {
	bySource := make([]Versioned, len(w.sources))
	found := false
	for i, s := range w.sources {
		if v, ok := s.(Versioned); ok && v.HasVersions() {
			bySource[i], found = v, true
		}
	}
	if !found {
		return nil
	}
	return w.writeFile(fileVersions, func(f *sealed.Writer) error {
		var b [versionBytes]byte
		for source, doc := range w.oldDocs() {
			var v Version
			if from := bySource[source]; from != nil {
				v = from.Version(int(doc))
			}
			binary.LittleEndian.PutUint64(b[:], v.Seq)
			binary.LittleEndian.PutUint64(b[8:], v.Number)
			if _, err := f.Write(b[:]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Version returns a document's version, zero if it has none.
func (s *Segment) Version(doc base.DocID) (v Version, err error) {
	if s.versions == nil {
		return v, nil
	}
	if int64(doc) >= int64(s.meta.NumDocs) {
		return v, fmt.Errorf("segment %s: document %d of %d: %w", s.dir, doc, s.meta.NumDocs, base.ErrBadInput)
	}
	b, err := s.versions.Range(versionBytes*uint64(doc), versionBytes)
	if err != nil {
		return v, fmt.Errorf("segment %s: %w", s.dir, err)
	}
	return Version{Seq: binary.LittleEndian.Uint64(b), Number: binary.LittleEndian.Uint64(b[8:])}, nil
}

// HasVersions implements Versioned.
func (r *segmentSource) HasVersions() bool { return r.s.versions != nil }

// Version implements Versioned. The caller has verified the file.
func (r *segmentSource) Version(doc int) Version {
	b := r.s.versions.Bytes()[versionBytes*doc:]
	return Version{Seq: binary.LittleEndian.Uint64(b), Number: binary.LittleEndian.Uint64(b[8:])}
}
