package wal

import (
	"errors"
	"io"

	"github.com/griffin-search/griffin/internal/vfs"
)

// readBytes is how much is read at once.
const readBytes = 256 << 10

// window is a buffered view of a file from its start on.
type window struct {
	file  vfs.File
	name  string
	limit int64  // no byte from here on is read
	buf   []byte // buf[r:w] is what was read and not skipped
	r, w  int
	at    int64 // position in the file of buf[r]
}

// peek returns the next n bytes, fewer at the end. They are valid until the next call.
func (w *window) peek(n int) ([]byte, error) {
	if w.w-w.r >= n {
		return w.buf[w.r : w.r+n], nil
	}
	if left := w.limit - w.at; int64(n) > left {
		n = int(left)
	}
	if want := max(n, int(min(readBytes, w.limit-w.at))); len(w.buf) < want {
		grown := make([]byte, want)
		w.w = copy(grown, w.buf[w.r:w.w])
		w.buf = grown
	} else {
		w.w = copy(w.buf, w.buf[w.r:w.w])
	}
	w.r = 0
	for w.w < n {
		room := min(int64(len(w.buf)), w.limit-w.at)
		got, err := w.file.Read(w.buf[w.w:room])
		w.w += got
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, vfs.PathError("read", w.name, err)
		}
	}
	return w.buf[:min(n, w.w)], nil
}

func (w *window) skip(n int) {
	w.r += n
	w.at += int64(n)
}

// errEnd is the end of the valid part of a file.
var errEnd = errors.New("end of the file")

// cursor reads the frames of a file.
type cursor struct {
	window
	header  header
	seed    uint32
	crc     uint32 // of the last record's frame
	next    Seq
	durable Seq // what the marks say
	inside  bool
	// The place after the last complete Append or mark.
	end     int64
	endCRC  uint32
	endNext Seq
	// The place after the last complete Append.
	endRecords int64
	raw        []byte // the last frame
}

// openCursor begins to read a file of the log, of which limit bytes are valid. It uses buf.
func openCursor(fsys vfs.FS, name string, limit int64, buf []byte) (*cursor, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	c := &cursor{window: window{file: file, name: name, limit: limit, buf: buf}}
	b, err := c.peek(headerLen)
	if err == nil {
		c.header, err = decodeHeader(name, b)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	c.skip(headerLen)
	c.seed, c.crc, c.next = c.header.seed(), c.header.prev, c.header.first
	c.durable = c.next - 1
	c.done()
	c.endRecords = c.end
	return c, nil
}

func (c *cursor) done() { c.end, c.endCRC, c.endNext = c.at, c.crc, c.next }

// frame returns the next frame and its payload, which is valid until the next call; errEnd at
// the limit, *damage if the bytes are not the next frame.
func (c *cursor) frame() (f frame, payload []byte, err error) {
	b, err := c.peek(frameLen)
	if err != nil {
		return f, nil, err
	}
	if len(b) == 0 && c.at == c.limit && !c.inside {
		return f, nil, errEnd
	}
	if len(b) < frameLen {
		return f, nil, c.damaged("it ends within a record")
	}
	f, ok := decodeFrame(b)
	if !ok {
		return f, nil, c.damaged("no record begins here")
	}
	if b, err = c.peek(frameLen + f.length); err != nil {
		return f, nil, err
	}
	switch {
	case len(b) < frameLen+f.length:
		return f, nil, c.damaged("it ends within a record")
	case f.checksum(c.seed, b) != f.crc:
		return f, nil, c.damaged("wrong checksum of a record")
	case f.prev != c.crc:
		return f, nil, c.damaged("the record does not follow the one before")
	}
	if f.kind == kindMark {
		if c.inside || f.seq >= c.next {
			return f, nil, c.damaged("a mark is out of place")
		}
		c.durable = max(c.durable, f.seq)
	} else {
		if f.seq != c.next {
			return f, nil, c.damaged("the record has a wrong number")
		}
		c.next++
		c.crc = f.crc
		c.inside = f.kind == kindRecord
	}
	c.raw = b
	c.skip(len(b))
	if !c.inside {
		c.done()
	}
	if f.kind == kindLast {
		c.endRecords = c.end
	}
	return f, b[frameLen:], nil
}

func (c *cursor) damaged(why string) error { return &damage{c.name, c.at, why} }

// confirmed reports whether a mark behind the current place says that records from number seq on
// were durable. Then the current place is damaged; otherwise it is the torn end of the log.
func (c *cursor) confirmed(seq Seq) (bool, error) {
	for {
		b, err := c.peek(readBytes)
		if err != nil {
			return false, err
		}
		if len(b) < frameLen {
			return false, nil
		}
		for i := range len(b) - frameLen + 1 {
			if b[i+12] != kindMark {
				continue
			}
			if f, ok := decodeFrame(b[i:]); ok && f.kind == kindMark && f.seq >= seq && f.checksum(c.seed, b[i:]) == f.crc {
				return true, nil
			}
		}
		c.skip(len(b) - frameLen + 1)
	}
}
