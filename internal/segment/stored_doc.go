package segment

import (
	"bytes"
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

	raw     []byte        // decompressed block that holds the slices
	of      *StoredReader // of raw
	number  int           // of the block in of
	block   []byte        // memory of raw, unless it is shared
	plain   []byte        // memory of texts whose escapes were removed
	escaped int           // bytes of these texts with their escapes
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
//
// or, if much of the strings is in others, as with the JSON of a document:
//
//	+----+----+-------+-------+-------+-------+--------+ per extra: +-------+-------+
//	| 80 | 00 | texts | bytes | title | text  | extras |            | name  | value |
//	|    |    | len   |       | place | place | count  |            | place | place |
//	+----+----+-------+-------+-------+-------+--------+            +-------+-------+
//
// A place is of corpus.Shared.AppendMarkedPlace. No length is written as 80 00.
func appendStoredDoc(dst []byte, shared *corpus.Shared, title, text string, extra []corpus.Field) []byte {
	const leastSaved = 64
	if len(extra) > 0 {
		shared.Reset()
		shared.Add(title)
		shared.Add(text)
		for i := range extra {
			shared.Add(extra[i].Name)
			shared.Add(extra[i].Value)
		}
		if shared.Find(true); shared.SavedBytes() >= leastSaved {
			return appendShared(append(dst, sharedDoc...), shared, len(extra))
		}
	}
	dst = appendString(dst, title)
	dst = appendString(dst, text)
	dst = binary.AppendUvarint(dst, uint64(len(extra)))
	for _, f := range extra {
		dst = appendString(dst, f.Name)
		dst = appendString(dst, f.Value)
	}
	return dst
}

// sharedDoc begins a document whose strings share bytes.
const sharedDoc = "\x80\x00"

func appendShared(dst []byte, shared *corpus.Shared, numExtra int) []byte {
	dst = shared.AppendTexts(dst)
	for i := range 2 + 2*numExtra {
		if i == 2 {
			dst = binary.AppendUvarint(dst, uint64(numExtra))
		}
		dst = shared.AppendMarkedPlace(dst, i)
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
	d.Extra, d.plain, d.escaped = d.Extra[:0], d.plain[:0], 0
	r := byteReader{src: src}
	next := r.bytes
	if bytes.HasPrefix(src, []byte(sharedDoc)) {
		r.src = src[len(sharedDoc):]
		texts := r.bytes()
		next = func() []byte { return d.place(&r, texts) }
	}
	d.Title = next()
	d.Text = next()
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		d.Extra = append(d.Extra, StoredField{Name: next(), Value: next()})
	}
	if r.bad || len(r.src) > 0 {
		return fmt.Errorf("stored document: %w", base.ErrCorrupt)
	}
	return nil
}

// place returns a string of texts.
func (d *StoredDoc) place(r *byteReader, texts []byte) []byte {
	at, n := r.count(), r.uvarint()
	if size := n >> 1; r.bad || at > len(texts) || size > uint64(len(texts)-at) {
		r.src, r.bad = nil, true
		return nil
	}
	b := texts[at : at+int(n>>1) : at+int(n>>1)]
	if n&1 == 0 {
		return b
	}
	if d.escaped += len(b); d.escaped > maxStoredDoc { // more than a Writer takes
		r.src, r.bad = nil, true
		return nil
	}
	if cap(d.plain)-len(d.plain) < len(b) { // strings before this one keep the former memory
		d.plain = make([]byte, 0, 2*cap(d.plain)+len(b))
	}
	start := len(d.plain)
	plain, ok := corpus.Unescape(d.plain, b)
	if !ok {
		r.src, r.bad = nil, true
		return nil
	}
	d.plain = plain
	return plain[start:len(plain):len(plain)]
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
