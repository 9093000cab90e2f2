package corpus

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Document is one document as its reader found it.
type Document struct {
	// ID is the external id: not empty, unique in the index (last one wins).
	ID string
	// Title and Text together are the default field, in this order.
	Title, Text string
	// Extra holds further named fields in the order of the record ("url", "path",
	// or the record's own names). They are stored; they are indexed as fields
	// of their own where the index declares them.
	Extra []Field
	// Vector holds the terms of a document that comes with weights (Options.Weights),
	// each once; nil if it does not, not nil but empty if it has none.
	Vector []TermWeight
	// Source is where the document was read, for messages.
	Source Location
}

// Field is a named text of a document.
type Field struct{ Name, Value string }

// TermWeight is a term with the weight that a model gave it.
type TermWeight struct {
	Term   string
	Weight float64
}

// Location is a place in the input. Zero parts are unknown.
type Location struct {
	File   string // path as the user gave it, "-" for standard input
	Line   int64  // 1-based line in the uncompressed text
	Offset int64  // byte offset in the uncompressed stream, where lines mean nothing (WARC, CIFF)
}

// String formats the location as file:line or file@offset. A path that cannot
// be printed as it is (control characters, no UTF-8) is quoted as in Go.
func (l Location) String() string {
	file := l.File
	if !utf8.ValidString(file) || strings.ContainsFunc(file, unicode.IsControl) {
		file = strconv.Quote(file)
	}
	switch {
	case l.Line > 0:
		return fmt.Sprintf("%s:%d", file, l.Line)
	case l.Offset > 0:
		return fmt.Sprintf("%s@%d", file, l.Offset)
	}
	return file
}

// RecordError says that one record could not be used and why.
type RecordError struct {
	Location
	Field string // name of the offending field, if one
	Err   error
}

// Error formats the error with its place, which is not said twice.
func (e *RecordError) Error() string {
	if cause, ok := e.Err.(*fs.PathError); ok && cause.Path == e.File { //nolint:errorlint // what wraps it says more
		return fmt.Sprintf("%s: %s: %v", e.Location, cause.Op, cause.Err)
	}
	if e.Field != "" {
		return fmt.Sprintf("%s: field %q: %v", e.Location, e.Field, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Location, e.Err)
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// Reader splits a corpus into batches of whole records, in corpus order. Next
// is for one goroutine; the batches may be parsed by others, at the same time.
type Reader interface {
	// Next returns the next batch, or io.EOF after the last. Errors that concern
	// one file (unreadable folder, damaged gzip) come as a Batch with nothing
	// but that bad record, so that the caller decides whether to go on; an error
	// of Next itself ends the corpus.
	Next() (*Batch, error)
	// Progress returns how many bytes of the input (as stored, compressed or
	// not) were read and how many there are in all; total is 0 if unknown. It
	// may be called at any time from any goroutine.
	Progress() (read, total int64)
	// Skipped returns how many files were left out because they hold no text or
	// are hidden (folders only; hidden folders are not looked into and do not
	// count), and how many records because they hold no document (WARC requests,
	// images). It is complete once Next returned io.EOF and every batch was parsed.
	Skipped() int64
	// Close releases the input. It may be called at any time after Next returned.
	Close() error
}

// Batch is a run of consecutive raw records, about a megabyte. Parse is where
// the work is, so that it can run in parallel.
type Batch struct {
	// SizeBytes is the uncompressed size of the records; of files of a folder, which
	// Parse reads, their size as stored.
	SizeBytes int64
	// Parse calls doc for each good record and bad for each bad one, in order.
	// It is to be called once. The Document and its strings stay valid; ID is
	// memory of its own, Title, Text and the values of Extra share theirs: who
	// keeps one of them for long keeps a strings.Clone. An error from doc or bad
	// ends Parse and is returned.
	Parse func(doc func(*Document) error, bad func(*RecordError) error) error
}
