package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/griffin-search/griffin/internal/base"
)

// batchBytes is the size of a batch of records; a larger record has a batch to itself.
const batchBytes = 1 << 20

// splitter cuts one stream into batches. next returns io.EOF after the last
// batch; a *RecordError as error says that the rest of the stream is lost.
// The memory of a batch is its own and is never written again.
type splitter interface {
	next() (*Batch, error)
}

var (
	_ splitter = (*textSplitter)(nil)
	_ splitter = (*warcSplitter)(nil)
)

// syntax is a format whose records can be told apart by looking at their ends.
// Its methods may be called by several goroutines at a time.
type syntax interface {
	// firstEnd and lastEnd return where the first and the last record end that
	// b holds to the end; 0 if it holds none. b starts a record or amid one.
	firstEnd(b []byte) int
	lastEnd(b []byte) int
	// endBytes is the length of what marks the end of a record.
	endBytes() int
	// parse parses a run of whole records. At the end of the stream the last
	// may lack its end.
	parse(c chunk, doc func(*Document) error, bad func(*RecordError) error) error
}

var (
	_ syntax = (*lineSyntax)(nil)
	_ syntax = (*trecSyntax)(nil)
)

// chunk is a part of a stream.
type chunk struct {
	file string
	line int64 // of the first byte of data
	data []byte
}

// textSplitter cuts a stream at ends of records.
type textSplitter struct {
	s      *stream
	limit  int // longest record
	syntax syntax

	rest     []byte // read, but not yet in a batch: the start of a record
	line     int64  // number of the line of rest
	offset   int64  // of rest in the stream
	overlong bool   // rest is amid a record that was reported already
	err      error  // to return when rest is used up
}

// newTextSplitter returns a splitter of s; a byte order mark is left out.
func newTextSplitter(s *stream, limit int, syntax syntax) *textSplitter {
	t := &textSplitter{s: s, limit: limit, syntax: syntax, line: 1}
	if bom, _ := s.Peek(3); string(bom) == "\ufeff" {
		_, _ = s.Discard(3) // cannot fail: just peeked
		t.offset = 3
	}
	return t
}

// next implements splitter.
func (t *textSplitter) next() (*Batch, error) {
	for t.err == nil {
		buf := make([]byte, max(batchBytes, min(2*len(t.rest), t.limit+1)))
		n := copy(buf, t.rest)
		m, err := t.s.fill(buf[n:])
		buf, t.err = buf[:n+m], err
		if t.overlong {
			end := t.syntax.firstEnd(buf)
			if end == 0 {
				// Of the end of the record, a part may have been read.
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

// drop leaves out the first n bytes of buf.
func (t *textSplitter) drop(buf []byte, n int) []byte {
	t.line += int64(bytes.Count(buf[:n], []byte{'\n'}))
	t.offset += int64(n)
	t.rest = buf[n:]
	return t.rest
}

// batch makes a batch of whole records and counts their lines.
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

// badBatch is a batch of nothing but one bad record.
func badBatch(rec *RecordError) *Batch {
	return &Batch{Parse: func(_ func(*Document) error, bad func(*RecordError) error) error { return bad(rec) }}
}
