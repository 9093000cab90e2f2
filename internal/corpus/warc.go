package corpus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

const maxHeaderBytes = 1 << 20

// warcSplitter cuts a WARC file (ISO 28500, versions 0.18 to 1.1) into batches of records that
// may hold a document: responses, resources, and conversions (WET); others count as skipped.
//
//	WARC/1.0 CRLF | name: value CRLF … CRLF | block of Content-Length bytes | 2 CRLF
type warcSplitter struct {
	s      *stream
	r      *reader
	limit  int64
	offset int64 // of the next byte in the stream
	err    error // to return after the batch at hand
	bad    *RecordError
}

type warcRecord struct {
	header map[string]string
	block  []byte
	at     Location
}

func newWARCSplitter(s *stream, r *reader) *warcSplitter {
	return &warcSplitter{s: s, r: r, limit: int64(r.opts.MaxRecordBytes)}
}

var errMalformed = errors.New("malformed WARC record")

func (w *warcSplitter) next() (*Batch, error) {
	if bad := w.bad; bad != nil {
		w.bad = nil
		return badBatch(bad), nil
	}
	var records []warcRecord
	size := int64(0)
	for w.err == nil && w.bad == nil && size < batchBytes {
		var rec *warcRecord
		if rec, w.err = w.record(); rec != nil {
			records = append(records, *rec)
			size += int64(len(rec.block))
		}
	}
	if len(records) > 0 {
		return w.batch(records, size), nil
	}
	if bad := w.bad; bad != nil {
		w.bad = nil
		return badBatch(bad), nil
	}
	if !errors.Is(w.err, io.EOF) {
		return nil, w.s.failed(w.offset, w.err)
	}
	return nil, io.EOF
}

func (w *warcSplitter) batch(records []warcRecord, size int64) *Batch {
	return &Batch{
		SizeBytes: size,
		Parse: func(doc func(*Document) error, bad func(*RecordError) error) error {
			for i := range records {
				d, rec := w.r.parseWARC(&records[i])
				var err error
				switch {
				case rec != nil:
					err = bad(rec)
				case d != nil:
					err = doc(d)
				default:
					w.r.summary.records.Add(1)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// record returns nil without an error for a record without a document or a bad one (sets
// w.bad).
func (w *warcSplitter) record() (*warcRecord, error) {
	version, start, err := w.versionLine()
	if err != nil {
		return nil, err
	}
	at := Location{File: w.s.name, Offset: start}
	if !strings.HasPrefix(version, "WARC/") {
		w.bad = &RecordError{Location: at, Err: fmt.Errorf("%w: a record starts with WARC/ and its version, not with %.40q: %w", errMalformed, version, base.ErrBadInput)}
		return nil, w.resync()
	}
	header, err := w.header()
	if errors.Is(err, errMalformed) {
		w.bad = &RecordError{Location: at, Err: err}
		return nil, w.resync()
	}
	if err != nil {
		return nil, err
	}
	length, err := strconv.ParseInt(header["content-length"], 10, 64)
	if err != nil || length < 0 {
		w.bad = &RecordError{Location: at, Field: "Content-Length", Err: fmt.Errorf("%w: %q is no length: %w", errMalformed, header["content-length"], base.ErrBadInput)}
		return nil, w.resync()
	}
	switch kind := header["warc-type"]; {
	case kind != "response" && kind != "resource" && kind != "conversion":
		w.r.summary.records.Add(1)
		return nil, w.discard(length)
	case length > w.limit:
		w.bad = tooLong(at, int(w.limit))
		return nil, w.discard(length)
	}
	// The buffer grows with the data, not the claimed length.
	var block bytes.Buffer
	n, err := block.ReadFrom(io.LimitReader(w.s, length))
	w.offset += n
	if err == nil && n < length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		w.offset = start // the start of the lost record
		return nil, err
	}
	return &warcRecord{header: header, block: block.Bytes(), at: at}, nil
}

// versionLine returns the next line that is not blank, and its offset.
func (w *warcSplitter) versionLine() (line string, start int64, err error) {
	for {
		start = w.offset
		b, err := w.line()
		if err != nil && (!errors.Is(err, io.EOF) || len(b) == 0) {
			return "", start, err
		}
		if b = bytes.TrimSpace(b); len(b) > 0 {
			return string(b), start, nil
		}
	}
}

// line is cut to the stream's buffer and valid until the next read.
func (w *warcSplitter) line() ([]byte, error) {
	b, err := w.s.ReadSlice('\n')
	w.offset += int64(len(b))
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return b, err
}

func (w *warcSplitter) header() (map[string]string, error) {
	var lines []byte
	for {
		b, err := w.line()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimRight(b, "\r\n")) == 0 {
			return parseHeader(lines), nil
		}
		if lines = append(lines, b...); len(lines) > maxHeaderBytes {
			return nil, fmt.Errorf("%w: its header is longer than %d bytes: %w", errMalformed, maxHeaderBytes, base.ErrBadInput)
		}
	}
}

func (w *warcSplitter) discard(n int64) error {
	skipped, err := io.CopyN(io.Discard, w.s, n)
	w.offset += skipped
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// resync skips lines up to one that starts a record.
func (w *warcSplitter) resync() error {
	for {
		if start, err := w.s.Peek(len("WARC/1.")); string(start) == "WARC/1." || string(start) == "WARC/0." {
			return nil
		} else if len(start) == 0 && err != nil {
			return err
		}
		if _, err := w.line(); err != nil {
			return err
		}
	}
}
