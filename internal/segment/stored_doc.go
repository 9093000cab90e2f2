package segment

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// StoredDoc is one document's stored text, reused to avoid allocation. Its slices are valid
// until the next read into it.
type StoredDoc struct {
	Title, Text []byte
	Extra       []StoredField // in the order of the record

	block []byte // decompressed block that holds the slices
}

// StoredField is a named text.
type StoredField struct{ Name, Value []byte }

// Readers reject larger sizes.
const maxStoredDoc = 1 << 30

// appendStoredDoc appends a document. Numbers are varints:
//
//	+-------+-------+------+------+--------+ per extra: +------+------+-------+-------+
//	| title | bytes | text | bytes| extras |            | name | bytes| value | bytes |
//	| len   |       | len  |      | count  |            | len  |      | len   |       |
//	+-------+-------+------+------+--------+            +------+------+-------+-------+
func appendStoredDoc(dst []byte, title, text string, extra []corpus.Field) []byte {
	dst = appendString(dst, title)
	dst = appendString(dst, text)
	dst = binary.AppendUvarint(dst, uint64(len(extra)))
	for _, f := range extra {
		dst = appendString(dst, f.Name)
		dst = appendString(dst, f.Value)
	}
	return dst
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// EachValue visits the values of the fields of some names, the title as field "title"; without names, title and
// text.
func (d *StoredDoc) EachValue(names []string, visit func(value []byte)) {
	if names == nil {
		visit(d.Title)
		visit(d.Text)
		return
	}
	if len(d.Title) > 0 && slices.Contains(names, titleField) {
		visit(d.Title)
	}
	for _, f := range d.Extra {
		if slices.Contains(names, string(f.Name)) {
			visit(f.Value)
		}
	}
}

const titleField = "title"

// The document must fill src, into which the fields point.
func (d *StoredDoc) decode(src []byte) error {
	d.Extra = d.Extra[:0]
	r := byteReader{src: src}
	d.Title = r.bytes()
	d.Text = r.bytes()
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		d.Extra = append(d.Extra, StoredField{Name: r.bytes(), Value: r.bytes()})
	}
	if r.bad || len(r.src) > 0 {
		return fmt.Errorf("stored document: %w", base.ErrCorrupt)
	}
	return nil
}

// After the first failure bad is set and all results are zero.
type byteReader struct {
	src []byte
	bad bool
}

func (r *byteReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	if n <= 0 {
		r.src, r.bad = nil, true
		return 0
	}
	r.src = r.src[n:]
	return v
}

// A uvarint of at most MaxInt32.
func (r *byteReader) count() int {
	v := r.uvarint()
	if v > math.MaxInt32 {
		r.src, r.bad = nil, true
		return 0
	}
	return int(v)
}

func (r *byteReader) bytes() []byte { return r.take(r.count()) }

func (r *byteReader) take(n int) []byte {
	if n < 0 || n > len(r.src) {
		r.src, r.bad = nil, true
		return nil
	}
	b := r.src[:n:n]
	r.src = r.src[n:]
	return b
}
