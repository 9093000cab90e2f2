package inverter

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/griffin-search/griffin/internal/base"
)

// A byte string of a partial index, in memory or in a spill file.
type region struct {
	data   []byte // if file is nil
	file   io.ReaderAt
	offset int64
	size   int64
}

func memoryRegion(data []byte) region { return region{data: data, size: int64(len(data))} }

// Memory, or a copy from the file.
func (s *region) load() ([]byte, error) { return s.bytes(0, s.size) }

func (s *region) bytes(from, n int64) ([]byte, error) {
	if from > s.size || n > s.size-from {
		return nil, errPartial
	}
	if s.file == nil {
		return s.data[from : from+n], nil
	}
	data := make([]byte, n)
	if _, err := s.file.ReadAt(data, s.offset+from); err != nil {
		return nil, fmt.Errorf("read temporary file of a partial index: %w", err)
	}
	return data, nil
}

// stream reads a region through a window.
type stream struct {
	window []byte // unread bytes
	buf    []byte // memory of the window for a file
	file   io.ReaderAt
	offset int64 // in the file, of the byte after the window
	left   int64 // bytes after the window
}

// bufBytes is a file's window.
func (r *stream) open(s *region, bufBytes int) {
	if s.file == nil {
		*r = stream{window: s.data}
		return
	}
	*r = stream{buf: r.buf, file: s.file, offset: s.offset, left: s.size}
	if cap(r.buf) < bufBytes {
		r.buf = make([]byte, bufBytes)
	}
}

func (r *stream) fill(n int) error {
	if len(r.window) >= n || r.left == 0 {
		return nil
	}
	if n > len(r.buf) {
		grown := make([]byte, 2*n)
		copy(grown, r.window)
		r.window, r.buf = grown[:len(r.window)], grown
	} else {
		copy(r.buf, r.window)
	}
	have := len(r.window)
	more := min(int64(len(r.buf)-have), r.left)
	if _, err := r.file.ReadAt(r.buf[have:have+int(more)], r.offset); err != nil {
		return fmt.Errorf("read temporary file of a partial index: %w", err)
	}
	r.offset += more
	r.left -= more
	r.window = r.buf[:have+int(more)]
	return nil
}

func (r *stream) skip(n int64) error {
	if n <= int64(len(r.window)) {
		r.window = r.window[n:]
		return nil
	}
	n -= int64(len(r.window))
	if n > r.left {
		return errPartial
	}
	r.window = r.window[:0]
	r.offset += n
	r.left -= n
	return nil
}

// Valid until the stream is used again.
func (r *stream) take(n int) ([]byte, error) {
	if err := r.fill(n); err != nil {
		return nil, err
	}
	if n > len(r.window) {
		return nil, errPartial
	}
	b := r.window[:n]
	r.window = r.window[n:]
	return b, nil
}

func (r *stream) uvarint() (uint64, error) {
	if err := r.fill(binary.MaxVarintLen64); err != nil {
		return 0, err
	}
	v, n := binary.Uvarint(r.window)
	if n <= 0 {
		return 0, errPartial
	}
	r.window = r.window[n:]
	return v, nil
}

// Another program changed the memory or file.
var errPartial = fmt.Errorf("temporary file of a partial index: %w", base.ErrCorrupt)
