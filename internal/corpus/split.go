package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/griffin-search/griffin/internal/base"
)

// batchBytes is the size of a batch; a larger record has its own.
const batchBytes = 1 << 20

// splitter cuts one stream into batches, and then returns io.EOF; a *RecordError means that the
// rest is lost. A batch's memory is never written again.
type splitter interface {
	next() (*Batch, error)
}

var (
	_ splitter = (*textSplitter)(nil)
	_ splitter = (*warcSplitter)(nil)
)

// syntax is a format in which a search finds the ends of records. Methods are safe for
// concurrent use.
type syntax interface {
	// firstEnd and lastEnd return the ends of the first and last record that end in b; 0 for
	// none. For lastEnd, b starts with a record; for firstEnd, within one.
	firstEnd(b []byte) int
	lastEnd(b []byte) int
	// endBytes is the length of a record's end mark.
	endBytes() int
	// The last record of the stream may lack its end.
	parse(c chunk, doc func(*Document) error, bad func(*RecordError) error) error
}

var (
	_ syntax = (*lineSyntax)(nil)
	_ syntax = (*trecSyntax)(nil)
	_ syntax = (*mboxSyntax)(nil)
)

type chunk struct {
	file string
	line int64 // of the first byte of data
	data []byte
}

type textSplitter struct {
	s      *stream
	limit  int // longest record
	syntax syntax

	rest     []byte // read, but not yet in a batch: the start of a record
	line     int64  // number of the line of rest
	offset   int64  // of rest in the stream
	overlong bool   // rest starts within a record that was reported as too long
	err      error  // to return when rest is used up
}

// newTextSplitter skips a byte order mark.
func newTextSplitter(s *stream, limit int, syntax syntax) *textSplitter {
	t := &textSplitter{s: s, limit: limit, syntax: syntax, line: 1}
	if bom, _ := s.Peek(3); string(bom) == "\ufeff" {
		_, _ = s.Discard(3) // cannot fail: just peeked
		t.offset = 3
	}
	return t
}

func (t *textSplitter) next() (*Batch, error) {
	for t.err == nil {
		buf := make([]byte, max(batchBytes, min(2*len(t.rest), t.limit+1)))
		n := copy(buf, t.rest)
		m, err := t.s.fill(buf[n:])
		buf, t.err = buf[:n+m], err
		if t.overlong {
			end := t.syntax.firstEnd(buf)
			if end == 0 {
				// buf may end with a part of the mark.
				t.drop(buf, max(0, len(buf)-t.syntax.endBytes()+1))
				continue
			}
			t.overlong = false
			buf = t.drop(buf, end)
		}
		whole := len(buf) // the last record needs no end
		if !errors.Is(t.err, io.EOF) {
			whole = t.syntax.lastEnd(buf)
		}
		t.rest = buf[whole:]
		if whole > 0 {
			return t.batch(buf[:whole]), nil
		}
		if len(t.rest) > t.limit {
			blank := len(buf) - len(bytes.TrimLeft(buf, " \t\r\n")) // between the records
			line := t.line + int64(bytes.Count(buf[:blank], []byte{'\n'}))
			bad := tooLong(Location{File: t.s.name, Line: line}, t.limit)
			t.drop(buf, max(0, len(buf)-t.syntax.endBytes()+1))
			t.overlong = true
			return badBatch(bad), nil
		}
	}
	if !errors.Is(t.err, io.EOF) {
		return nil, t.s.failed(t.offset, t.err)
	}
	return nil, io.EOF
}

func (t *textSplitter) drop(buf []byte, n int) []byte {
	t.line += int64(bytes.Count(buf[:n], []byte{'\n'}))
	t.offset += int64(n)
	t.rest = buf[n:]
	return t.rest
}

func (t *textSplitter) batch(records []byte) *Batch {
	c := chunk{file: t.s.name, line: t.line, data: records}
	t.line += int64(bytes.Count(records, []byte{'\n'}))
	t.offset += int64(len(records))
	parse := t.syntax.parse
	return &Batch{
		SizeBytes: int64(len(records)),
		Parse: func(doc func(*Document) error, bad func(*RecordError) error) error {
			return parse(c, doc, bad)
		},
	}
}

func tooLong(at Location, limit int) *RecordError {
	return &RecordError{Location: at, Err: fmt.Errorf("the record is longer than the limit of %d bytes: %w", limit, base.ErrBadInput)}
}

func badBatch(rec *RecordError) *Batch {
	return &Batch{Parse: func(_ func(*Document) error, bad func(*RecordError) error) error { return bad(rec) }}
}
