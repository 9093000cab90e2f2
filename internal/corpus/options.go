package corpus

import (
	"io"
	"os"
	"slices"
)

// DefaultMaxRecordBytes is the default of Options.MaxRecordBytes.
const DefaultMaxRecordBytes = 64 << 20

// Options say how to read a corpus. The zero value reads everything that can
// be recognised.
type Options struct {
	// Format is one of Formats; empty means "auto".
	Format string
	// IDField, TitleField and TextField name the fields of a JSON record that
	// hold these parts. Empty: the first that the record has of _id, id, docid,
	// docno; of title; of text, contents, body, content. A record must have an
	// id and a text field; the text may be empty. With a TitleField the record
	// must have it too.
	IDField, TitleField, TextField string
	// ExtraFields names the further fields that go to Document.Extra. nil: all
	// that are text, a number or a truth value; a field that is named here and
	// is a list or an object is kept as JSON.
	ExtraFields []string
	// DropExtra leaves Document.Extra empty.
	DropExtra bool
	// Weights reads records as vectors: the field "vector" of a JSON record is
	// an object of terms and weights, as Anserini and Pyserini write them, and
	// goes to Document.Vector; a text is not asked for. Only JSON Lines have it.
	Weights bool
	// MaxRecordBytes bounds a record, and a file of a folder, uncompressed.
	// What is longer is reported as a RecordError. 0: DefaultMaxRecordBytes.
	MaxRecordBytes int
	// Stdin is what the path "-" reads; nil: os.Stdin.
	Stdin io.Reader
}

// withDefaults returns o with its zero values replaced.
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

// keepsExtra tells whether a field of the given name goes to Document.Extra.
func (o *Options) keepsExtra(name string) bool {
	if o.DropExtra {
		return false
	}
	return o.ExtraFields == nil || slices.Contains(o.ExtraFields, name)
}

// extra appends a field to fields if it is not empty and wanted.
func (o *Options) extra(fields []Field, name, value string) []Field {
	if value == "" || !o.keepsExtra(name) {
		return fields
	}
	return append(fields, Field{name, value})
}
