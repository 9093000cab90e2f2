package sealed

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Writer writes a sealed file and buffers one chunk. After the first error every call returns
// it. It is not safe for concurrent use.
type Writer struct {
	fs        vfs.FS
	name      string
	file      vfs.File // nil after Close or Abort
	chunk     []byte   // current chunk
	written   uint64   // payload bytes before chunk
	table     []byte
	tableCRC  uint32
	headerCRC uint32
	err       error
}

// Create creates a file, valid only after Close. kind is 1 to 8 ASCII bytes; version is the
// payload format's, at least 1.
func Create(fs vfs.FS, name, kind string, version uint32) (*Writer, error) {
	if len(kind) == 0 || len(kind) > kindLen || version == 0 {
		return nil, fmt.Errorf("%s: kind %q, version %d: %w", name, kind, version, base.ErrBadInput)
	}
	file, err := fs.Create(name)
	if err != nil {
		return nil, err
	}
	w := &Writer{fs: fs, name: name, file: file, chunk: make([]byte, 0, ChunkLen)}
	header := appendHeader(nil, kind, version)
	w.headerCRC = binary.LittleEndian.Uint32(header[headerLen-4:])
	if _, err := file.Write(header); err != nil {
		return nil, errors.Join(vfs.PathError("write", name, err), w.Abort())
	}
	return w, nil
}

// Offset returns the number of payload bytes written.
func (w *Writer) Offset() uint64 { return w.written + uint64(len(w.chunk)) }

// Write appends to the payload.
func (w *Writer) Write(p []byte) (int, error) {
	if w.file == nil && w.err == nil {
		w.err = fmt.Errorf("write %s: %w", w.name, base.ErrClosed)
	}
	n := 0
	for w.err == nil && n < len(p) {
		m := min(ChunkLen-len(w.chunk), len(p)-n)
		w.chunk = append(w.chunk, p[n:n+m]...)
		n += m
		if len(w.chunk) == ChunkLen {
			w.flush()
		}
	}
	return n, w.err
}

var zeros [256]byte

// Align appends zeros until Offset is a multiple of n, a power of two up to
// 256.
func (w *Writer) Align(n int) error {
	if n <= 0 || n > len(zeros) || n&(n-1) != 0 {
		return fmt.Errorf("%s: align to %d: %w", w.name, n, base.ErrBadInput)
	}
	_, err := w.Write(zeros[:-w.Offset()&uint64(n-1)])
	return err
}

func (w *Writer) flush() {
	w.table = binary.LittleEndian.AppendUint32(w.table, checksum(w.chunk))
	if _, err := w.file.Write(w.chunk); err != nil {
		w.err = vfs.PathError("write", w.name, err)
		return
	}
	w.written += uint64(len(w.chunk))
	w.chunk = w.chunk[:0]
}

// Close completes the file and syncs its content (fs.SyncDir syncs the folder's
// entry). After an error the file is invalid and may or may not exist.
func (w *Writer) Close() error {
	if w.file == nil {
		return fmt.Errorf("close %s: %w", w.name, base.ErrClosed)
	}
	if w.err == nil && len(w.chunk) > 0 {
		w.flush()
	}
	if w.err != nil {
		return errors.Join(w.err, w.Abort())
	}
	w.tableCRC = checksum(w.table)
	tail := append(make([]byte, 0, 4+len(w.table)+footerLen), zeros[:tablePadding(w.written)]...)
	tail = append(tail, w.table...)
	tail = appendFooter(tail, w.written, w.tableCRC, w.headerCRC)
	_, err := w.file.Write(tail)
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		w.err = vfs.PathError("write", w.name, err)
		return errors.Join(w.err, w.Abort())
	}
	err = w.file.Close()
	w.file = nil
	return err
}

// Abort discards and removes the file; after Close or Abort it does nothing.
func (w *Writer) Abort() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	if w.err == nil {
		w.err = fmt.Errorf("write %s: %w", w.name, base.ErrClosed)
	}
	return errors.Join(err, w.fs.Remove(w.name))
}

// Sum is the checksum of the checksum table, valid after Close.
func (w *Writer) Sum() uint32 { return w.tableCRC }

// SizeBytes is the size of the whole file, valid after Close.
func (w *Writer) SizeBytes() int64 {
	return int64(headerLen + w.written + tablePadding(w.written) + uint64(len(w.table)) + footerLen)
}
