package index

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/griffin-search/griffin/internal/base"
)

// section is a byte string of a run: in memory, or a part of a spill file.
type section struct {
	data   []byte // if file is nil
	file   io.ReaderAt
	offset int64
	size   int64
}

func memorySection(data []byte) section { return section{data: data, size: int64(len(data))} }

// load returns the whole string: the memory itself, or a copy of the file's part.
func (s *section) load() ([]byte, error) { return s.part(0, s.size) }

// part returns n bytes from offset from.
func (s *section) part(from, n int64) ([]byte, error) {
	if from > s.size || n > s.size-from {
		return nil, errRun
	}
	if s.file == nil {
		return s.data[from : from+n], nil
	}
	data := make([]byte, n)
	if _, err := s.file.ReadAt(data, s.offset+from); err != nil {
		return nil, fmt.Errorf("read spilled run: %w", err)
	}
	return data, nil
}

// stream reads a section from its start to its end through a window.
type stream struct {
	window []byte // unread bytes
	buf    []byte // memory of the window, if from a file
	file   io.ReaderAt
	offset int64 // in the file, of what follows the window
	left   int64 // bytes that follow the window
}

// open starts to read s. bufBytes is the window's size for a section of a file.
func (r *stream) open(s *section, bufBytes int) {
	if s.file == nil {
		*r = stream{window: s.data}
		return
	}
	*r = stream{buf: r.buf, file: s.file, offset: s.offset, left: s.size}
	if cap(r.buf) < bufBytes {
		r.buf = make([]byte, bufBytes)
	}
}

// fill makes the window at least n bytes long, or as long as what is left.
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
		return fmt.Errorf("read spilled run: %w", err)
	}
	r.offset += more
	r.left -= more
	r.window = r.buf[:have+int(more)]
	return nil
}

// skip passes over n bytes.
func (r *stream) skip(n int64) error {
	if n <= int64(len(r.window)) {
		r.window = r.window[n:]
		return nil
	}
	n -= int64(len(r.window))
	if n > r.left {
		return errRun
	}
	r.window = r.window[:0]
	r.offset += n
	r.left -= n
	return nil
}

// take returns the next n bytes, valid until the stream is used again.
func (r *stream) take(n int) ([]byte, error) {
	if err := r.fill(n); err != nil {
		return nil, err
	}
	if n > len(r.window) {
		return nil, errRun
	}
	b := r.window[:n]
	r.window = r.window[n:]
	return b, nil
}

// uvarint reads a number.
func (r *stream) uvarint() (uint64, error) {
	if err := r.fill(binary.MaxVarintLen64); err != nil {
		return 0, err
	}
	v, n := binary.Uvarint(r.window)
	if n <= 0 {
		return 0, errRun
	}
	r.window = r.window[n:]
	return v, nil
}

// errRun says that a run is not what was written: memory or a spill file,
// which no one else should touch, changed in the meantime.
var errRun = fmt.Errorf("spilled run: %w", base.ErrCorrupt)
