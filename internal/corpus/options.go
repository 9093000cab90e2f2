package corpus

import (
	"io"
	"os"
	"slices"
)

// DefaultMaxRecordBytes is the default of Options.MaxRecordBytes.
const DefaultMaxRecordBytes = 64 << 20

// MaxFields bounds the values of one record or document; each element of a list counts. A
// record with more is refused while it is read.
const MaxFields = 1 << 16

// Options are the options of Open; zero reads all recognised files.
type Options struct {
	// Format is one of Formats; empty means "auto".
	Format string
	// IDField, TitleField and TextField name the fields of JSON and CSV records with these
	// parts, dotted if nested; a record without such a field is bad. Defaults: the first of
	// _id, id, docid, docno; title; the first of text, contents, body, content; and otherwise
	// the names in record.go. A record without an id is numbered; it needs a title or a text,
	// which may be empty.
	IDField, TitleField, TextField string
	// ExtraFields names the fields that go to Document.Extra, each with those below it ("meta"
	// keeps "meta.author"); nil: all.
	ExtraFields []string
	// DropExtra leaves Document.Extra empty.
	DropExtra bool
	// Weights reads the field "vector" of JSON records, terms and weights as Anserini and
	// Pyserini write them, into Document.Vector. Title or text may then be missing.
	Weights bool
	// Mapped describes the declared fields of records; nil: their texts are all that counts.
	Mapped *Mapped
	// Kinds sets Document.Kinds.
	Kinds bool
	// MaxRecordBytes bounds a record, or a file that is one document, uncompressed; a longer
	// one is bad. 0: DefaultMaxRecordBytes.
	MaxRecordBytes int
	// PDFToText is the program that converts PDF files, such as pdftotext of poppler: it gets the
	// arguments -q -enc UTF-8 - -, the file on its standard input, and writes the text. "":
	// PDF files are skipped.
	PDFToText string
	// Stdin is the input of the path "-"; nil: os.Stdin.
	Stdin io.Reader
}

func (o Options) withDefaults() Options {
	if o.Format == "" {
		o.Format = formatAuto
	}
	if o.MaxRecordBytes <= 0 {
		o.MaxRecordBytes = DefaultMaxRecordBytes
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	return o
}

func (o *Options) keepsExtra(name string) bool {
	if o.DropExtra {
		return false
	}
	return o.ExtraFields == nil || slices.Contains(o.ExtraFields, name)
}

func (o *Options) extra(fields []Field, name, value string) []Field {
	if value == "" || !o.keepsExtra(name) {
		return fields
	}
	return append(fields, Field{name, value})
}
