package inverter

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

type docTable struct {
	idBytes   []byte
	idEnds    []uint32
	hashes    []keyed // of ids, for finding duplicates
	locations locationWriter
	versions  []segment.Version // of all documents, or none
}

const idHashBytes = 12 // in a spill file

func hashID(id []byte) uint64 { return xxh3.Hash(id) }

// Keeps a gap and its flag within 32 bits.
const maxPartialDocs = 1 << 30

func (t *docTable) len() int { return len(t.idEnds) }

func (t *docTable) full(maxDocs, maxBytes int) bool {
	return len(t.idEnds) >= maxDocs || len(t.idBytes) > maxBytes
}

func (t *docTable) usedBytes() int64 {
	return int64(len(t.idBytes)+4*len(t.idEnds)+16*len(t.hashes)+16*len(t.versions)) + int64(len(t.locations.bytes))
}

func (t *docTable) reset() {
	t.idBytes, t.idEnds, t.hashes = t.idBytes[:0], t.idEnds[:0], t.hashes[:0]
	t.locations.reset()
	t.versions = t.versions[:0]
}

func (t *docTable) add(id string, source corpus.Location) {
	t.hashes = append(t.hashes, keyed{Key: xxh3.HashString(id), Number: uint32(len(t.idEnds))})
	t.idBytes = append(t.idBytes, id...)
	t.idEnds = append(t.idEnds, uint32(len(t.idBytes)))
	t.locations.add(source)
}

// locationWriter encodes each document's location:
//
//	varint( kind | newFile<<1 ) [varint(length) file] varint(line or offset)
//
// kind is 0 for a line, 1 for an offset. Only messages about duplicates need them, so they are
// read sequentially.
type locationWriter struct {
	bytes []byte
	file  string
	any   bool
}

func (w *locationWriter) reset() { *w = locationWriter{bytes: w.bytes[:0]} }

func (w *locationWriter) add(l corpus.Location) {
	head, at := byte(0), l.Line
	if l.Line == 0 {
		head, at = 1, l.Offset
	}
	if isNew := !w.any || l.File != w.file; isNew {
		w.bytes = append(w.bytes, head|2)
		w.bytes = binary.AppendUvarint(w.bytes, uint64(len(l.File)))
		w.bytes = append(w.bytes, l.File...)
		w.file, w.any = l.File, true
	} else {
		w.bytes = append(w.bytes, head)
	}
	w.bytes = binary.AppendUvarint(w.bytes, uint64(at))
}

type locationReader struct {
	bytes []byte
	file  string
}

func (r *locationReader) next() (corpus.Location, error) {
	if len(r.bytes) == 0 {
		return corpus.Location{}, errPartial
	}
	head := r.bytes[0]
	r.bytes = r.bytes[1:]
	if head&2 != 0 {
		n, err := r.uvarint()
		if err != nil || n > uint64(len(r.bytes)) {
			return corpus.Location{}, errPartial
		}
		r.file, r.bytes = string(r.bytes[:n]), r.bytes[n:]
	}
	at, err := r.uvarint()
	if err != nil {
		return corpus.Location{}, err
	}
	if head&1 != 0 {
		return corpus.Location{File: r.file, Offset: int64(at)}, nil
	}
	return corpus.Location{File: r.file, Line: int64(at)}, nil
}

func (r *locationReader) uvarint() (uint64, error) {
	v, n := binary.Uvarint(r.bytes)
	if n <= 0 {
		return 0, errPartial
	}
	r.bytes = r.bytes[n:]
	return v, nil
}
