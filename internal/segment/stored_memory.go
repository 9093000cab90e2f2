package segment

import (
	"fmt"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

// StoredMemory is the payload of a file of stored documents, in memory: a segment copies them soon. One goroutine
// writes it; then it does not change until Free.
type StoredMemory struct{ payload []byte }

// freePayloads is memory for later documents: a payload has some MB.
var freePayloads = sync.Pool{New: func() any { return new(StoredMemory) }}

// NewStoredMemory returns an empty one.
func NewStoredMemory() *StoredMemory {
	m := freePayloads.Get().(*StoredMemory)
	m.payload = m.payload[:0]
	return m
}

// Free ends the use of m and of its readers. It may be called once.
func (m *StoredMemory) Free() { freePayloads.Put(m) }

// Open returns a reader of the documents of a closed StoredWriter.
func (m *StoredMemory) Open() (*StoredReader, error) { return newStoredReader(m) }

// Save creates the file.
func (m *StoredMemory) Save(fs vfs.FS, name string) error {
	out, err := sealed.Create(fs, name, fileStored, storedVersion)
	if err != nil {
		return err
	}
	if _, err := out.Write(m.payload); err != nil {
		return abort(err, out)
	}
	return out.Close()
}

// SizeBytes is the size of the payload.
func (m *StoredMemory) SizeBytes() int64 { return int64(len(m.payload)) }

// The output of a StoredWriter.
var (
	_ storedOutput  = (*StoredMemory)(nil)
	_ storedOutput  = (*sealed.Writer)(nil)
	_ storedContent = (*StoredMemory)(nil)
	_ storedContent = (*sealed.File)(nil)
)

// storedOutput is where a StoredWriter writes.
type storedOutput interface {
	Write(p []byte) (int, error)
	Offset() uint64 // bytes written
	Close() error
	Abort() error
}

// storedContent is the input of a StoredReader: a file or memory.
type storedContent interface {
	Name() string
	Len() uint64
	Bytes() []byte
	// Range and Check verify the bytes.
	Range(offset, n uint64) ([]byte, error)
	Check(offset, n uint64) error
	Close() error
}

// Write implements io.Writer.
func (m *StoredMemory) Write(p []byte) (int, error) {
	m.payload = append(m.payload, p...)
	return len(p), nil
}

// Offset implements storedOutput.
func (m *StoredMemory) Offset() uint64 { return uint64(len(m.payload)) }

// Close does nothing.
func (m *StoredMemory) Close() error { return nil }

// Abort does nothing.
func (m *StoredMemory) Abort() error { return nil }

// Name implements storedContent.
func (m *StoredMemory) Name() string { return "stored documents in memory" }

// Len implements storedContent.
func (m *StoredMemory) Len() uint64 { return uint64(len(m.payload)) }

// Bytes implements storedContent.
func (m *StoredMemory) Bytes() []byte { return m.payload }

// Range implements storedContent.
func (m *StoredMemory) Range(offset, n uint64) ([]byte, error) {
	if err := m.Check(offset, n); err != nil {
		return nil, err
	}
	return m.payload[offset : offset+n : offset+n], nil
}

// Check implements storedContent.
func (m *StoredMemory) Check(offset, n uint64) error {
	if size := m.Len(); offset > size || n > size-offset {
		return fmt.Errorf("%s: bytes %d to %d of %d: %w", m.Name(), offset, offset+n, size, base.ErrCorrupt)
	}
	return nil
}
