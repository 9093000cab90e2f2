package corpus

import (
	"bytes"
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

var _ splitter = (*lineSplitter)(nil)

// lineParser parses one record of a line-based format. It is made anew for
// each batch, so it may keep scratch memory.
type lineParser interface {
	// parse returns the document of one line, or why there is none. The line
	// holds no line end and is not blank.
	parse(line []byte, at Location) (*Document, *RecordError)
}

// lineSplitter cuts a stream at line ends.
type lineSplitter struct {
	s         *stream
	limit     int // longest line, without its end
	newParser func() lineParser

	rest     []byte // read, but not yet in a batch: the start of a line
	line     int64  // number of the line that rest starts
	offset   int64  // of rest in the stream
	overlong bool   // the line that goes on was reported already
	err      error  // to return when rest is used up
}

// newLineSplitter returns a splitter that parses lines with parsers from newParser.
func newLineSplitter(s *stream, limit int, newParser func() lineParser) *lineSplitter {
	l := &lineSplitter{s: s, limit: limit, newParser: newParser, line: 1}
	if bom, _ := s.Peek(3); string(bom) == "\ufeff" {
		_, _ = s.Discard(3) // cannot fail: just peeked
		l.offset = 3
	}
	return l
}

// next implements splitter.
func (l *lineSplitter) next() (*Batch, error) {
	for l.err == nil {
		size := max(batchBytes, min(2*len(l.rest), l.limit+1))
		buf := make([]byte, size)
		n := copy(buf, l.rest)
		m, err := l.s.fill(buf[n:])
		buf, l.err = buf[:n+m], err
		whole := bytes.LastIndexByte(buf, '\n') + 1
		if err == io.EOF {
			whole = len(buf) // the last line needs no line end
		}
		if l.overlong {
			end := bytes.IndexByte(buf, '\n') + 1
			if end == 0 {
				l.offset += int64(len(buf))
				l.rest = nil
				continue
			}
			l.overlong = false
			l.line++
			l.offset += int64(end)
			buf, whole = buf[end:], whole-end
		}
		l.rest = buf[whole:]
		if whole > 0 {
			return l.batch(buf[:whole]), nil
		}
		if len(l.rest) > l.limit {
			bad := l.tooLong(Location{File: l.s.name, Line: l.line})
			l.offset += int64(len(l.rest))
			l.rest, l.overlong = nil, true
			return badBatch(bad), nil
		}
	}
	if l.err != io.EOF {
		return nil, l.s.failed(l.offset, l.err)
	}
	return nil, io.EOF
}

// batch makes a batch of whole lines and counts them.
func (l *lineSplitter) batch(lines []byte) *Batch {
	first := l.line
	l.line += int64(bytes.Count(lines, []byte{'\n'}))
	l.offset += int64(len(lines))
	return &Batch{
		SizeBytes: int64(len(lines)),
		Parse: func(doc func(*Document) error, bad func(*RecordError) error) error {
			return l.parse(lines, first, doc, bad)
		},
	}
}

// parse parses the lines of one batch. It reads only what never changes in l.
func (l *lineSplitter) parse(lines []byte, number int64, doc func(*Document) error, bad func(*RecordError) error) error {
	parser := l.newParser()
	for ; len(lines) > 0; number++ {
		line := lines
		if end := bytes.IndexByte(lines, '\n'); end >= 0 {
			line, lines = lines[:end], lines[end+1:]
		} else {
			lines = nil
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if len(line) == 0 || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		at := Location{File: l.s.name, Line: number}
		var err error
		if len(line) > l.limit {
			err = bad(l.tooLong(at))
		} else if d, rec := parser.parse(line, at); rec != nil {
			err = bad(rec)
		} else {
			err = doc(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *lineSplitter) tooLong(at Location) *RecordError {
	return &RecordError{Location: at, Err: fmt.Errorf("the line is longer than the limit of %d bytes: %w", l.limit, base.ErrBadInput)}
}

// badBatch is a batch of nothing but one bad record.
func badBatch(rec *RecordError) *Batch {
	return &Batch{Parse: func(_ func(*Document) error, bad func(*RecordError) error) error { return bad(rec) }}
}
