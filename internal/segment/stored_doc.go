package segment

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// StoredDoc is the stored text of one document. Reuse one for many reads: it
// keeps its memory. All slices are valid until the next read into it.
type StoredDoc struct {
	Title, Text []byte
	Extra       []StoredField // in the order of the record

	block []byte // the decompressed block that the slices point into
}

// StoredField is a further named text of a document.
type StoredField struct{ Name, Value []byte }

// maxStoredDoc bounds one document's encoding, so that a reader can tell a size
// that nothing wrote.
const maxStoredDoc = 1 << 30

// appendStoredDoc appends a document's encoding. Numbers are varints:
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

// decode parses one document's encoding, which must fill src, into d. The
// fields point into src.
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

// byteReader takes numbers and byte strings from the front of src. After the
// first that is not there, bad is set and everything is zero.
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

// count is a uvarint that fits an int.
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
