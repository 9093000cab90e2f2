package living

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// Types of records in the log.
const (
	recordPlain  = 1 // as recordIndex, with all strings in full (format 1, only read)
	recordDelete = 2
	recordIndex  = 3 // a document replaces the one of its id, if any
	// Fields are declared: encodeFields, and in recordFieldsIndex then a recordIndex.
	recordFields      = 4
	recordFieldsIndex = 5
	// The same with types.
	recordTyped      = 6
	recordTypedIndex = 7
	// As recordIndex, recordFieldsIndex and recordTypedIndex, with marked places.
	recordMarked       = 8
	recordFieldsMarked = 9
	recordTypedMarked  = 10
	// As recordTyped; fields that are declared are changed.
	recordRevised = 11
)

// appendBody encodes a document after the number of its version, a uvarint:
//
//	length of the texts, texts; places of id, title and text; count of further fields, and the
//	places of the name and value of each; count of weighted terms, and the place of the term
//	and the bits of the weight, u64, of each
//
// A place is an offset in the texts and a length. Counts, lengths and offsets are uvarints. Strings
// that are parts of others, such as the fields of a document's JSON and the JSON, are there once. If one of
// them has escapes there, which marked reports, all lengths are of corpus.Shared.AppendMarkedPlace. p is memory.
func appendBody(dst []byte, d *corpus.Document, p *corpus.Shared) (_ []byte, marked bool) {
	p.Reset()
	for _, text := range []string{d.ID, d.Title, d.Text} {
		p.Add(text)
	}
	for i := range d.Extra {
		p.Add(d.Extra[i].Name)
		p.Add(d.Extra[i].Value)
	}
	for i := range d.Vector {
		p.Add(d.Vector[i].Term)
	}
	p.Find(true)
	dst = p.AppendTexts(dst)
	place := p.AppendPlace
	if p.Escaped() {
		place = p.AppendMarkedPlace
	}
	next := 0
	appendNext := func(n int) {
		for range n {
			dst = place(dst, next)
			next++
		}
	}
	appendNext(3)
	dst = binary.AppendUvarint(dst, uint64(len(d.Extra)))
	appendNext(2 * len(d.Extra))
	dst = binary.AppendUvarint(dst, uint64(len(d.Vector)))
	for i := range d.Vector {
		appendNext(1)
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(d.Vector[i].Weight))
	}
	return dst, p.Escaped()
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// decodeRecord returns the version number and the document, only the id of which is set for a deletion. The
// kind is of cutFields.
// The error wraps base.ErrCorrupt.
func decodeRecord(kind byte, payload []byte) (number uint64, d *corpus.Document, err error) {
	r := recordReader{src: payload, marked: kind == recordMarked}
	number, d = r.uvarint(), new(corpus.Document)
	switch kind {
	case recordIndex, recordMarked:
		r.document(d)
	case recordDelete:
		d.ID = r.text()
	case recordPlain:
		d.ID = r.text()
		d.Title, d.Text = r.text(), r.text()
		for n := r.uvarint(); n > 0 && !r.bad; n-- {
			d.Extra = append(d.Extra, corpus.Field{Name: r.text(), Value: r.text()})
		}
		for n := r.uvarint(); n > 0 && !r.bad; n-- {
			d.Vector = append(d.Vector, corpus.TermWeight{Term: r.text(), Weight: r.float()})
		}
	}
	if r.bad || len(r.src) > 0 {
		return 0, nil, fmt.Errorf("record of type %d: %w", kind, base.ErrCorrupt)
	}
	return number, d, nil
}

// decodeID is decodeRecord for the version number and the id, which can share the memory of the payload.
func decodeID(kind byte, payload []byte) (number uint64, id []byte, err error) {
	r := recordReader{src: payload, marked: kind == recordMarked}
	number = r.uvarint()
	id = r.bytes()
	if kind == recordIndex || kind == recordMarked {
		r.texts = string(id)
		id = []byte(r.place())
	}
	if r.bad {
		return 0, nil, fmt.Errorf("record of type %d: %w", kind, base.ErrCorrupt)
	}
	return number, id, nil
}

// document decodes what appendBody encodes. The strings share memory.
func (r *recordReader) document(d *corpus.Document) {
	r.texts = r.text()
	d.ID, d.Title, d.Text = r.place(), r.place(), r.place()
	if n := r.count(4); n > 0 {
		d.Extra = make([]corpus.Field, n)
		for i := range d.Extra {
			d.Extra[i] = corpus.Field{Name: r.place(), Value: r.place()}
		}
	}
	if n := r.count(10); n > 0 {
		d.Vector = make([]corpus.TermWeight, n)
		for i := range d.Vector {
			d.Vector[i] = corpus.TermWeight{Term: r.place(), Weight: r.float()}
		}
	}
}

// count returns the number of the following items, each of which takes at least size bytes.
func (r *recordReader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.src)/size) {
		r.src, r.bad = nil, true
		return 0
	}
	return int(n)
}

func (r *recordReader) place() string {
	at, n := r.uvarint(), r.uvarint()
	escaped := false
	if r.marked {
		escaped, n = n&1 != 0, n>>1
	}
	if size := uint64(len(r.texts)); at > size || n > size-at {
		r.src, r.bad = nil, true
		return ""
	}
	text := r.texts[at : at+n]
	if !escaped {
		return text
	}
	if r.escaped += n; r.escaped > maxEscaped {
		r.src, r.bad = nil, true
		return ""
	}
	plain, ok := corpus.Unescape(make([]byte, 0, n), text)
	if !ok {
		r.src, r.bad = nil, true
	}
	return string(plain)
}

// recordReader reads zero values after the end, which sets bad.
type recordReader struct {
	src     []byte
	texts   string
	marked  bool   // lengths of places
	escaped uint64 // bytes of escaped strings so far
	bad     bool
}

// maxEscaped bounds the memory for the escaped strings of a record; no stored document has more.
const maxEscaped = 1 << 30

func (r *recordReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	if n <= 0 {
		r.src, r.bad = nil, true
		return 0
	}
	r.src = r.src[n:]
	return v
}

func (r *recordReader) float() float64 {
	if len(r.src) < 8 {
		r.src, r.bad = nil, true
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.src))
	r.src = r.src[8:]
	return v
}

func (r *recordReader) text() string { return string(r.bytes()) }

func (r *recordReader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.src)) {
		r.src, r.bad = nil, true
		return nil
	}
	b := r.src[:n]
	r.src = r.src[n:]
	return b
}
