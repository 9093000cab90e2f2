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
	// Number counts the writes of the id, from 1; 0: not counted.
	Number uint64
}

// Versioned is a Source whose documents have versions.
type Versioned interface {
	// Versions returns each document's version, not to be changed, or nil.
	Versions() []Version
}

const versionBytes = 16

// writeVersions writes the versions in DocID order if a source has any.
func (w *writer) writeVersions(context.Context) error {
	bySource := make([][]Version, len(w.sources))
	found := false
	for i, s := range w.sources {
		if v, ok := s.(Versioned); ok {
			bySource[i] = v.Versions()
		}
		if n := len(bySource[i]); n != 0 && n != w.maps[i].n {
			return fmt.Errorf("source %d: versions of %d documents for %d: %w", i, n, w.maps[i].n, base.ErrBadInput)
		}
		found = found || bySource[i] != nil
	}
	if !found {
		return nil
	}
	versions := make([]byte, versionBytes*w.numDocs)
	next := 0
	for i := range w.sources {
		_ = w.maps[i].kept(func(doc int) error {
			id := next
			if w.newID != nil {
				id = int(w.newID[next])
			}
			next++
			if bySource[i] != nil {
				binary.LittleEndian.PutUint64(versions[versionBytes*id:], bySource[i][doc].Seq)
				binary.LittleEndian.PutUint64(versions[versionBytes*id+8:], bySource[i][doc].Number)
			}
			return nil
		})
	}
	return w.writeFile(fileVersions, func(f *sealed.Writer) error {
		_, err := f.Write(versions)
		return err
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

// Versions implements Versioned. The caller has verified the file.
func (r *segmentSource) Versions() []Version {
	if r.s.versions == nil {
		return nil
	}
	payload := r.s.versions.Bytes()
	versions := make([]Version, r.s.meta.NumDocs)
	for i := range versions {
		b := payload[versionBytes*i:]
		versions[i] = Version{Seq: binary.LittleEndian.Uint64(b), Number: binary.LittleEndian.Uint64(b[8:])}
	}
	return versions
}
