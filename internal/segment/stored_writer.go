package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Stored documents, version 2: payload of a file of kind "stored", little endian. Blocks of
// documents, each a zstd frame of about storedBlockLen bytes, then the directory and the
// trailer.
//
//	+--------+--------+-----+-------------------+---------+
//	| frame  | frame  | ... | directory 16 each | trailer |
//	+--------+--------+-----+-------------------+---------+
//
//	entry:   0        8            12           16
//	         +--------+------------+------------+
//	         | offset | first doc  | raw bytes  |
//	         +--------+------------+------------+
//	trailer: 0              8           16
//	         +--------------+-----------+
//	         | num blocks   | num docs  |
//	         +--------------+-----------+
//
// A block holds its documents' sizes as varints, then the documents (appendStoredDoc). Version 1 has no documents
// whose strings share bytes.
const (
	storedVersion    = 2
	storedBlockLen   = 8 << 10 // 16 KiB: 5 % smaller, but 21 µs a read where 8 KiB takes 13 (wiki passages)
	storedEntryLen   = 16
	storedTrailerLen = 16
)

// StoredWriter writes stored documents for a segment or a partial index. It is not safe for
// concurrent use; several may run concurrently.
type StoredWriter struct {
	out     storedOutput
	numDocs uint32
	dir     []byte

	// The current block.
	first      uint32
	sizes      []byte // varints
	docs       []byte
	raw, frame []byte // scratch of flush
	shared     corpus.Shared
	quick      *quickBlocks // nil: each block takes the time that zstd needs
}

// NewStoredWriter creates the file.
func NewStoredWriter(fs vfs.FS, name string) (*StoredWriter, error) {
	out, err := sealed.Create(fs, name, fileStored, storedVersion)
	if err != nil {
		return nil, err
	}
	return &StoredWriter{out: out}, nil
}

// Reset begins to write to m, with the memory of former documents. Blocks are compressed quickly.
func (w *StoredWriter) Reset(m *StoredMemory) {
	w.out, w.numDocs, w.first = m, 0, 0
	w.quick = new(quickBlocks)
	w.dir, w.sizes, w.docs = w.dir[:0], w.sizes[:0], w.docs[:0]
}

// NumDocs counts added documents.
func (w *StoredWriter) NumDocs() int { return int(w.numDocs) }

// Add appends a document, from number 0. The error wraps base.ErrBadInput above about 1 GiB.
func (w *StoredWriter) Add(title, text string, extra []corpus.Field) error {
	n := len(title) + len(text)
	for _, f := range extra {
		n += len(f.Name) + len(f.Value)
	}
	if n > maxStoredDoc-(1<<20) || len(extra) > corpus.MaxFields {
		return fmt.Errorf("document %d: %d bytes in %d fields, too large to be stored: %w", w.numDocs, n, 2+len(extra), base.ErrBadInput)
	}
	start := len(w.docs)
	w.docs = appendStoredDoc(w.docs, &w.shared, title, text, extra)
	return w.added(len(w.docs) - start)
}

// addEncoded copies a document of another file.
func (w *StoredWriter) addEncoded(doc []byte) error {
	w.docs = append(w.docs, doc...)
	return w.added(len(doc))
}

func (w *StoredWriter) added(size int) error {
	if w.numDocs >= base.MaxDocs {
		return fmt.Errorf("more than %d documents: %w", base.MaxDocs, base.ErrBadInput)
	}
	w.sizes = binary.AppendUvarint(w.sizes, uint64(size))
	w.numDocs++
	if len(w.docs) >= storedBlockLen {
		return w.flush()
	}
	return nil
}

func (w *StoredWriter) flush() error {
	if w.first == w.numDocs {
		return nil
	}
	w.raw = append(append(w.raw[:0], w.sizes...), w.docs...)
	w.frame = w.compress(w.frame[:0], w.raw)
	err := w.addFrame(w.frame, w.first, len(w.raw))
	w.first, w.sizes, w.docs = w.numDocs, w.sizes[:0], w.docs[:0]
	if cap(w.raw) > 64*storedBlockLen { // release memory after a giant document
		w.docs, w.raw, w.frame = nil, nil, nil
	}
	return err
}

// compress appends a frame to dst.
func (w *StoredWriter) compress(dst, raw []byte) []byte {
	e, kept := encoders.get()
	defer encoders.put(e, kept)
	if w.quick != nil {
		return w.quick.compress(dst, raw, e)
	}
	return e.zstd.EncodeAll(raw, dst)
}

func (w *StoredWriter) addFrame(frame []byte, first uint32, rawLen int) error {
	w.dir = binary.LittleEndian.AppendUint64(w.dir, w.out.Offset())
	w.dir = binary.LittleEndian.AppendUint32(w.dir, first)
	w.dir = binary.LittleEndian.AppendUint32(w.dir, uint32(rawLen))
	_, err := w.out.Write(frame)
	return err
}

// addBlock copies a compressed block of n documents of another file.
func (w *StoredWriter) addBlock(frame []byte, n, rawLen int) error {
	if err := w.flush(); err != nil {
		return err
	}
	if int64(w.numDocs)+int64(n) > base.MaxDocs {
		return fmt.Errorf("more than %d documents: %w", base.MaxDocs, base.ErrBadInput)
	}
	err := w.addFrame(frame, w.numDocs, rawLen)
	w.numDocs += uint32(n)
	w.first = w.numDocs
	return err
}

// Close completes and syncs the file.
func (w *StoredWriter) Close() error {
	err := w.flush()
	w.dir = binary.LittleEndian.AppendUint64(w.dir, uint64(len(w.dir)/storedEntryLen))
	w.dir = binary.LittleEndian.AppendUint64(w.dir, uint64(w.numDocs))
	if err == nil {
		_, err = w.out.Write(w.dir)
	}
	if err != nil {
		return abort(err, w.out)
	}
	return w.out.Close()
}

// Abort removes the file; after Close it does nothing.
func (w *StoredWriter) Abort() error { return w.out.Abort() }
