package corpus

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// table is the header row of CSV or TSV.
//
// CSV follows RFC 4180, as encoding/csv reads it; the delimiter is the most frequent of comma,
// semicolon, tab and vertical bar in the header row. In TSV a quote is a part of the text.
type table struct {
	comma     byte
	names     [][]byte // of the columns
	roles     roles
	sizeBytes int // of the header row with its line end
}

// The most usual first.
const delimiters = ",;\t|"

// The error has no location yet.
func newTable(head []byte, path string, opts *Options) (*table, *RecordError) {
	if isUTF16(head) || bytes.IndexByte(head, 0) >= 0 {
		return nil, &RecordError{Err: fmt.Errorf("UTF-16 or binary data, convert it to UTF-8 to read it as records: %w", base.ErrBadInput)}
	}
	t := &table{comma: '\t'}
	if t.sizeBytes = bytes.IndexByte(head, '\n') + 1; t.sizeBytes == 0 {
		t.sizeBytes = len(head)
	}
	isTSV := extension(path) == ".tsv"
	if !isTSV {
		t.comma = delimiterOf(firstLine(head))
		if end := (&csvSyntax{table: t}).recordEnd(head); end > 0 {
			t.sizeBytes = end
		} else {
			t.sizeBytes = len(head)
		}
	}
	if t.sizeBytes == sniffBytes {
		return nil, &RecordError{Err: fmt.Errorf("the header row is longer than %d bytes: %w", sniffBytes, base.ErrBadInput)}
	}
	row := bytes.TrimRight(head[:t.sizeBytes], "\r\n")
	var cells []string
	if isTSV {
		for cell := range bytes.SplitSeq(row, []byte{'\t'}) {
			cells = append(cells, string(cell))
		}
	} else {
		reader := csv.NewReader(bytes.NewReader(row))
		reader.Comma = rune(t.comma)
		var err error
		if cells, err = reader.Read(); err != nil {
			return nil, &RecordError{Err: fmt.Errorf("header row: %w: %w", err, base.ErrBadInput)}
		}
	}
	if len(cells) > MaxFields {
		return nil, &RecordError{Err: fmt.Errorf("the header row has more than %d columns: %w", MaxFields, base.ErrBadInput)}
	}
	fields := make([]field, len(cells))
	for i, cell := range cells {
		name, ok := decodeText(bytes.TrimSpace([]byte(cell)))
		if !ok {
			return nil, &RecordError{Err: fmt.Errorf("the header row is not text: %w", base.ErrBadInput)}
		}
		if len(name) == 0 {
			name = fmt.Appendf(nil, "column%d", i+1)
		}
		t.names = append(t.names, name)
		fields[i] = field{name: name}
	}
	var rec *RecordError
	t.roles, rec = (&builder{opts: opts}).choose(fields, true /* fold */)
	return t, rec
}

func delimiterOf(row []byte) byte {
	var counts [len(delimiters)]int
	quoted := false
	for _, c := range row {
		if c == '"' {
			quoted = !quoted
		} else if i := bytes.IndexByte([]byte(delimiters), c); i >= 0 && !quoted {
			counts[i]++
		}
	}
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	return delimiters[best]
}

func splitCSV(s *stream, r *reader) splitter {
	head := s.head()
	bom := len(head) - len(bytes.TrimPrefix(head, []byte("\ufeff")))
	t, rec := newTable(head[bom:], s.name, &r.opts)
	if len(head) == bom {
		return &failedSplitter{} // an empty file
	}
	if rec != nil {
		rec.Location = Location{File: s.name, Line: 1}
		return &failedSplitter{rec}
	}
	limit := r.opts.MaxRecordBytes
	newParser := func() *rowParser {
		return &rowParser{builder: r.newBuilder(s), table: t}
	}
	var rows syntax = &csvSyntax{table: t, limit: limit, newParser: newParser}
	if extension(s.name) == ".tsv" {
		rows = &lineSyntax{limit: limit, newParser: func() lineParser { return newParser() }}
	}
	split := newTextSplitter(s, limit, rows)
	_, _ = s.Discard(t.sizeBytes) // cannot fail: just peeked
	split.offset += int64(t.sizeBytes)
	split.line += int64(bytes.Count(head[bom:bom+t.sizeBytes], []byte{'\n'}))
	return split
}

// failedSplitter is for a stream of which nothing can be read.
type failedSplitter struct{ rec *RecordError }

func (f *failedSplitter) next() (*Batch, error) {
	if f.rec == nil {
		return nil, io.EOF
	}
	return nil, f.rec
}

type rowParser struct {
	builder
	table  *table
	fields []field
	cells  []byte // backs the values of fields
}

func (p *rowParser) parse(line []byte, at Location) (*Document, *RecordError) {
	p.fields = p.fields[:0]
	for n := 0; ; n++ {
		cell, rest, more := bytes.Cut(line, []byte{'\t'})
		if rec := p.add(cell, at); rec != nil {
			return nil, rec
		}
		if !more {
			return p.document(at)
		}
		line = rest
	}
}

func (p *rowParser) record(cells []string, at Location) (*Document, *RecordError) {
	p.fields, p.cells = p.fields[:0], p.cells[:0]
	for _, cell := range cells {
		start := len(p.cells)
		p.cells = append(p.cells, cell...)
		if rec := p.add(p.cells[start:len(p.cells):len(p.cells)], at); rec != nil {
			return nil, rec
		}
	}
	return p.document(at)
}

func (p *rowParser) add(cell []byte, at Location) *RecordError {
	n := len(p.fields)
	if n == len(p.table.names) {
		return &RecordError{Location: at, Err: fmt.Errorf("more columns than the %d of the header row: %w", n, base.ErrBadInput)}
	}
	p.fields = append(p.fields, field{name: p.table.names[n], value: cell, kind: cellKind})
	return nil
}

// document makes a document of p.fields. Columns missing at the end are empty; both results are
// nil for a row of empty columns.
func (p *rowParser) document(at Location) (*Document, *RecordError) {
	short := len(p.fields) < len(p.table.names)
	for n := len(p.fields); n < len(p.table.names); n++ {
		p.fields = append(p.fields, field{name: p.table.names[n], kind: '"'})
	}
	recoded, blank := false, true
	for i := range p.fields {
		f := &p.fields[i]
		blank = blank && len(f.value) == 0
		if utf8.Valid(f.value) {
			continue
		}
		text, ok := decodeText(f.value)
		if !ok {
			return nil, &RecordError{Location: at, Field: string(f.name), Err: fmt.Errorf("neither UTF-8 nor Windows-1252 text: %w", base.ErrBadInput)}
		}
		f.value, recoded = text, true
	}
	if blank {
		return nil, nil
	}
	d, rec := p.build(p.fields, &p.table.roles, at)
	if rec != nil {
		rec.Location = at
		return nil, rec
	}
	if recoded {
		p.tally.recoded++
	}
	if short {
		p.tally.addShort(at)
	}
	return d, nil
}

// csvSyntax is CSV after the header row.
type csvSyntax struct {
	table     *table
	limit     int
	newParser func() *rowParser
}

// Amid a record that is too long, which usually lacks a quote, firstEnd takes the next line
// end.
func (c *csvSyntax) firstEnd(b []byte) int { return bytes.IndexByte(b, '\n') + 1 }
func (c *csvSyntax) endBytes() int         { return 1 }

func (c *csvSyntax) lastEnd(b []byte) int {
	end := 0
	for at := 0; at < len(b); {
		plain, quote := c.plain(b[at:])
		if nl := bytes.LastIndexByte(plain, '\n'); nl >= 0 {
			end = at + nl + 1
		}
		if quote < 0 {
			return end
		}
		if at = c.afterQuote(b, at+quote); at < 0 {
			return end
		}
	}
	return end
}

// recordEnd returns the end of b's first record, 0 if b does not hold it.
func (c *csvSyntax) recordEnd(b []byte) int {
	for at := 0; at < len(b); {
		plain, quote := c.plain(b[at:])
		if nl := bytes.IndexByte(plain, '\n'); nl >= 0 {
			return at + nl + 1
		}
		if quote < 0 {
			return 0
		}
		if at = c.afterQuote(b, at+quote); at < 0 {
			return 0
		}
	}
	return 0
}

func (c *csvSyntax) plain(b []byte) (text []byte, quote int) {
	if quote = bytes.IndexByte(b, '"'); quote < 0 {
		return b, -1
	}
	return b[:quote], quote
}

// afterQuote returns the byte after the quote at i or, if that opens a field, after the field;
// -1 if b does not hold its end.
func (c *csvSyntax) afterQuote(b []byte, i int) int {
	if i > 0 && b[i-1] != c.table.comma && b[i-1] != '\n' {
		return i + 1 // a quote within a field that is not quoted
	}
	for at := i + 1; ; at++ {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return -1
		}
		if at += n + 1; at == len(b) || b[at] != '"' {
			return at
		}
	}
}

func (c *csvSyntax) parse(ch chunk, doc func(*Document) error, bad func(*RecordError) error) error {
	p := c.newParser()
	defer p.end()
	rows := csv.NewReader(bytes.NewReader(ch.data))
	rows.Comma, rows.FieldsPerRecord, rows.ReuseRecord = rune(c.table.comma), -1, true
	for {
		start := rows.InputOffset()
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		d, rec := (*Document)(nil), (*RecordError)(nil)
		at := Location{File: ch.file}
		if malformed := (*csv.ParseError)(nil); errors.As(err, &malformed) {
			at.Line = ch.line + int64(malformed.StartLine) - 1
			rec = &RecordError{Location: at, Err: fmt.Errorf("invalid CSV at line %d, column %d: %w: %w",
				ch.line+int64(malformed.Line)-1, malformed.Column, malformed.Err, base.ErrBadInput)}
		} else if err != nil {
			return err
		} else {
			line, _ := rows.FieldPos(0)
			at.Line = ch.line + int64(line) - 1
			if rows.InputOffset()-start > int64(c.limit) {
				rec = tooLong(at, c.limit)
			} else {
				d, rec = p.record(cells, at)
			}
		}
		switch {
		case rec != nil:
			err = bad(rec)
		case d != nil:
			err = doc(d)
		}
		if err != nil {
			return err
		}
	}
}
