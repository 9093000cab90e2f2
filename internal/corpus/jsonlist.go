package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/griffin-search/griffin/internal/base"
)

// jsonSplitter cuts a JSON file into records: the elements of one list, or consecutive values.
// It only finds ends; the parser checks.
type jsonSplitter struct {
	s         *stream
	limit     int // longest record
	newParser func() lineParser

	rest   []byte // read, but not yet in a batch
	line   int64  // of rest
	offset int64  // of rest in the stream
	record int64  // number of the last record
	state  listState
	err    error // to return when rest is used up
}

type listState uint8

const (
	atStart    listState = iota
	atElement            // of a list, or its end
	afterValue           // in a list
	betweenValues
	afterList
)

type jsonRecord struct {
	data []byte
	at   Location
}

func splitJSON(s *stream, r *reader) splitter {
	return &jsonSplitter{
		s: s, limit: r.opts.MaxRecordBytes, line: 1,
		newParser: func() lineParser { return &jsonParser{builder: r.newBuilder(s)} },
	}
}

func (j *jsonSplitter) next() (*Batch, error) {
	for {
		if errors.Is(j.err, io.EOF) && len(j.rest) == 0 || j.err != nil && !errors.Is(j.err, io.EOF) {
			return nil, j.ended()
		}
		buf := make([]byte, max(batchBytes, min(2*len(j.rest), j.limit+1)))
		n := copy(buf, j.rest)
		m, err := j.s.fill(buf[n:])
		buf, j.err = buf[:n+m], err
		if j.offset == 0 && j.state == atStart {
			bom := len(buf) - len(bytes.TrimPrefix(buf, []byte("\ufeff")))
			buf, j.offset = buf[bom:], int64(bom)
		}
		records, err := j.records(buf)
		if err != nil {
			j.rest, j.err = nil, err // after the batch
		}
		if len(records) > 0 {
			return j.batch(records), nil
		}
		if err == nil && len(j.rest) > j.limit {
			j.rest, j.err = nil, fmt.Errorf("the record is longer than the limit of %d bytes: %w", j.limit, base.ErrBadInput)
		}
	}
}

func (j *jsonSplitter) ended() error {
	switch {
	case !errors.Is(j.err, io.EOF):
		if errors.Is(j.err, base.ErrBadInput) {
			return &RecordError{
				Location: Location{File: j.s.name, Line: j.line, Record: j.record + 1},
				Err:      fmt.Errorf("the rest of the file is lost: %w", j.err),
			}
		}
		return j.s.failed(j.offset, j.err)
	case j.state == atElement || j.state == afterValue:
		return &RecordError{Location: Location{File: j.s.name, Line: j.line}, Err: fmt.Errorf("the list does not end: %w", base.ErrBadInput)}
	}
	return io.EOF
}

func (j *jsonSplitter) records(buf []byte) (records []jsonRecord, err error) {
	for {
		blank := len(buf) - len(bytes.TrimLeft(buf, " \t\r\n"))
		buf = j.drop(buf, blank)
		if len(buf) == 0 {
			return records, nil
		}
		if mark, err := j.mark(buf[0]); err != nil {
			return records, err
		} else if mark {
			buf = j.drop(buf, 1)
			continue
		}
		end := valueEnd(buf)
		if end == 0 && errors.Is(j.err, io.EOF) {
			end = len(buf) // the parser reports the missing end
		}
		if end == 0 {
			return records, nil
		}
		j.record++
		records = append(records, jsonRecord{buf[:end:end], Location{File: j.s.name, Line: j.line, Record: j.record}})
		buf = j.drop(buf, end)
		if j.state == atElement {
			j.state = afterValue
		}
	}
}

// mark reports whether c belongs to the list around the records, and moves on after it. The
// error is about a misplaced c.
func (j *jsonSplitter) mark(c byte) (bool, error) {
	switch {
	case j.state == atStart && c == '[':
		j.state = atElement
		return true, nil
	case j.state == atStart:
		j.state = betweenValues
		return false, nil
	case j.state == atElement && c == ']', j.state == afterValue && c == ']':
		j.state = afterList
		return true, nil
	case j.state == afterValue && c == ',':
		j.state = atElement
		return true, nil
	case j.state == afterValue:
		return false, fmt.Errorf("invalid JSON: %q where a comma or the end of the list must be: %w", c, base.ErrBadInput)
	case j.state == afterList:
		return false, fmt.Errorf("invalid JSON: %q after the end of the list: %w", c, base.ErrBadInput)
	}
	return false, nil
}

func (j *jsonSplitter) drop(buf []byte, n int) []byte {
	j.line += int64(bytes.Count(buf[:n], []byte{'\n'}))
	j.offset += int64(n)
	j.rest = buf[n:]
	return j.rest
}

func (j *jsonSplitter) batch(records []jsonRecord) *Batch {
	size := int64(0)
	for i := range records {
		size += int64(len(records[i].data))
	}
	newParser, limit := j.newParser, j.limit
	return &Batch{
		SizeBytes: size,
		Parse: func(doc func(*Document) error, bad func(*RecordError) error) error {
			parser := newParser()
			defer parser.end()
			for i := range records {
				var err error
				if r := &records[i]; len(r.data) > limit {
					err = bad(tooLong(r.at, limit))
				} else if d, rec := parser.parse(r.data, r.at); rec != nil {
					err = bad(rec)
				} else {
					err = doc(d)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// valueEnd returns the end of b's first JSON value; 0 if b may not hold all of it. For invalid
// b, the result is within b, and not 0 unless b ends first.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return max(i, 1)
			}
		case '"':
			n := stringEnd(b[i:])
			if n == 0 {
				return 0
			}
			if i += n - 1; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return max(i, 1)
			}
		}
	}
	return 0
}

// stringEnd returns the end of b's first string, 0 if not in b.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return 0
		}
		i += n
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return 0
}
