package corpus

import (
	"cmp"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// Document is one document of a corpus.
type Document struct {
	// ID is the external id: not empty; of equal ids the last wins.
	ID string
	// Title and Text, in this order, are the default field.
	Title, Text string
	// Extra holds further named fields in the order of the record, once for each value. The
	// index stores them, and indexes those that it declares.
	Extra []Field
	// Kinds are the JSON types of the values of Extra (Options.Kinds): KindText and so on; nil: all texts.
	Kinds []Kind
	// Vector holds a document's weighted terms (Options.Weights), each once: nil without that
	// option, empty for a vector without terms.
	Vector []TermWeight
	// Declared, if not 0, counts the fields, with the default one, that the index had when the
	// document was written. It is not indexed in fields that the index got later.
	Declared int
	// Source is the document's place in the input, for messages.
	Source Location
}

// CheckUTF8 returns an error that wraps base.ErrBadInput and names field and byte of invalid
// UTF-8. The documents of a Reader are valid.
func (d *Document) CheckUTF8() error {
	check := func(what, text string) error {
		if utf8.ValidString(text) {
			return nil
		}
		valid := 0
		for valid < len(text) {
			r, size := utf8.DecodeRuneInString(text[valid:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			valid += size
		}
		return fmt.Errorf("document %q: %s: invalid UTF-8 at byte %d: %w", d.ID, what, valid, base.ErrBadInput)
	}
	err := cmp.Or(check("id", d.ID), check("title", d.Title), check("text", d.Text))
	for i := range d.Extra {
		f := &d.Extra[i]
		err = cmp.Or(err, check("name of a field", f.Name))
		if f.Value != d.Text && !utf8.ValidString(f.Value) {
			err = cmp.Or(err, check("field "+strconv.Quote(f.Name), f.Value))
		}
	}
	for i := range d.Vector {
		err = cmp.Or(err, check("term of the vector", d.Vector[i].Term))
	}
	return err
}

// Kind is the type of a value in the record that it comes from.
type Kind byte

// The kinds.
const (
	KindText    Kind = '"' // a string of JSON
	KindNumber  Kind = '0'
	KindBoolean Kind = 't'
	KindObject  Kind = '{' // an object or a list of JSON, which is the value
	KindCell    Kind = 'c' // of a format without types: CSV, TSV
)

// Field is a named text of a document.
type Field struct{ Name, Value string }

// TermWeight is a term with its weight.
type TermWeight struct {
	Term   string
	Weight float64
}

// Location is a place in the input; zero parts are unknown.
type Location struct {
	File   string // path as the user gave it, "-" for standard input
	Line   int64  // 1-based line in the uncompressed text
	Offset int64  // byte offset in the uncompressed stream, for formats without lines (WARC, CIFF)
	Record int64  // 1-based number of the record in a JSON list, beside Line
}

// String formats the location as file:line, file:line (record n) or file@offset. An unprintable
// path is quoted as in Go.
func (l Location) String() string {
	file := l.File
	if !utf8.ValidString(file) || strings.ContainsFunc(file, unicode.IsControl) {
		file = strconv.Quote(file)
	}
	switch {
	case l.Record > 0:
		return fmt.Sprintf("%s:%d (record %d)", file, l.Line, l.Record)
	case l.Line > 0:
		return fmt.Sprintf("%s:%d", file, l.Line)
	case l.Offset > 0:
		return fmt.Sprintf("%s@%d", file, l.Offset)
	}
	return file
}

// RecordError is the error of one record.
type RecordError struct {
	Location
	Field string // name of the invalid field, "" for none
	Err   error
}

// Error names the place once.
func (e *RecordError) Error() string {
	if cause, ok := e.Err.(*fs.PathError); ok && cause.Path == e.File { //nolint:errorlint // an error around it has more to report
		return fmt.Sprintf("%s: %s: %v", e.Location, cause.Op, cause.Err)
	}
	if e.Field != "" {
		return fmt.Sprintf("%s: field %q: %v", e.Location, e.Field, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Location, e.Err)
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// Reader splits a corpus into batches of whole records, in corpus order. One goroutine calls
// Next; others may parse batches meanwhile.
type Reader interface {
	// Next returns the next batch, or io.EOF. An error of one file (unreadable folder, damaged
	// gzip) is the bad record of a batch of its own; an error of Next ends the corpus.
	Next() (*Batch, error)
	// Progress returns the bytes of input read, as stored, and the total, 0 if unknown. It is
	// safe for concurrent use.
	Progress() (read, total int64)
	// Skipped counts files left out (not hidden folders), and records without a document (WARC
	// requests, images). It is complete after io.EOF once every batch was parsed.
	Skipped() int64
	// Summary describes how the corpus was read; complete when Skipped is.
	Summary() Summary
	// Close releases the input; not while Next runs.
	Close() error
}

// Batch is about a megabyte of consecutive raw records. Parse does most of the work, in
// parallel.
type Batch struct {
	// SizeBytes is the uncompressed size of the records; for files of a folder that Parse
	// opens, their stored size, then the size of the text that was read.
	SizeBytes int64
	// Parse calls doc for each good record and bad for each bad one, in order. Call it once; an
	// error from doc or bad ends it and is returned. The Document stays valid. ID has memory of
	// its own; Title, Text and Extra's values share theirs, so clone one to keep it alone.
	Parse func(doc func(*Document) error, bad func(*RecordError) error) error
}
