package living

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

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
)

// appendBody encodes a document after the number of its version, a uvarint:
//
//	length of the texts, texts; places of id, title and text; count of further fields, and the
//	places of the name and value of each; count of weighted terms, and the place of the term
//	and the bits of the weight, u64, of each
//
// A place is an offset in the texts and a length. Counts, lengths and offsets are uvarints. Strings
// that are parts of others, such as the fields of a document's JSON and the JSON, are there once.
func appendBody(dst []byte, d *corpus.Document) []byte {
	var p places
	p.list = append(p.room[:0], place{text: d.ID}, place{text: d.Title}, place{text: d.Text})
	for i := range d.Extra {
		p.list = append(p.list, place{text: d.Extra[i].Name}, place{text: d.Extra[i].Value})
	}
	for i := range d.Vector {
		p.list = append(p.list, place{text: d.Vector[i].Term})
	}
	dst = p.appendTexts(dst)
	rest := p.list
	appendNext := func(n int) {
		for _, q := range rest[:n] {
			dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(q.offset)), uint64(len(q.text)))
		}
		rest = rest[n:]
	}
	appendNext(3)
	dst = binary.AppendUvarint(dst, uint64(len(d.Extra)))
	appendNext(2 * len(d.Extra))
	dst = binary.AppendUvarint(dst, uint64(len(d.Vector)))
	for i := range d.Vector {
		appendNext(1)
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(d.Vector[i].Weight))
	}
	return dst
}

// places are the strings of a document.
type places struct {
	list []place
	room [16]place
}

type place struct {
	text   string
	offset int  // in the texts
	found  bool // in another string
}

// appendTexts appends the length of the texts and the texts, and sets the offsets. It looks for strings
// in the longest one, and in the longest of those that are not part of it.
func (p *places) appendTexts(dst []byte) []byte {
	whole := p.longest()
	p.find(whole, 0)
	second := p.longest()
	p.find(second, len(whole))
	size := len(whole) + len(second)
	for i := range p.list {
		if q := &p.list[i]; !q.found {
			q.offset = size
			size += len(q.text)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(size))
	dst = append(append(dst, whole...), second...)
	for i := range p.list {
		if q := &p.list[i]; !q.found {
			dst = append(dst, q.text...)
		}
	}
	return dst
}

// longest returns the longest string without a place.
func (p *places) longest() (s string) {
	for i := range p.list {
		if q := &p.list[i]; !q.found && len(q.text) > len(s) {
			s = q.text
		}
	}
	return s
}

// find gives strings a place in whole, which is at offset in the texts.
func (p *places) find(whole string, offset int) {
	for i := range p.list {
		q := &p.list[i]
		if q.found || len(q.text) > len(whole) || len(q.text) < minShared && q.text != whole {
			continue
		}
		// Index is fastest for short strings. Most texts have no other place with the same beginning.
		at := strings.Index(whole, q.text[:min(len(q.text), minShared)])
		if at >= 0 && strings.HasPrefix(whole[at:], q.text) {
			q.offset, q.found = offset+at, true
		}
	}
}

// minShared is the length from which on it is worth looking for a string in another.
const minShared = 16

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// decodeRecord returns the version number and the document, only the id of which is set for a deletion. The
// kind is of cutFields.
// The error wraps base.ErrCorrupt.
func decodeRecord(kind byte, payload []byte) (number uint64, d *corpus.Document, err error) {
	r := recordReader{src: payload}
	number, d = r.uvarint(), new(corpus.Document)
	if kind == recordIndex {
		r.document(d)
	} else {
		d.ID = r.text()
	}
	switch kind {
	case recordIndex:
	case recordDelete:
	case recordPlain:
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

// decodeID is decodeRecord for the version number and the id, which shares the memory of the payload.
func decodeID(kind byte, payload []byte) (number uint64, id []byte, err error) {
	r := recordReader{src: payload}
	number = r.uvarint()
	id = r.bytes()
	if kind == recordIndex {
		texts := id
		at, n := r.uvarint(), r.uvarint()
		if size := uint64(len(texts)); at > size || n > size-at {
			r.bad = true
		} else {
			id = texts[at : at+n]
		}
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
	if size := uint64(len(r.texts)); at > size || n > size-at {
		r.src, r.bad = nil, true
		return ""
	}
	return r.texts[at : at+n]
}

// recordReader reads zero values after the end, which sets bad.
type recordReader struct {
	src   []byte
	texts string
	bad   bool
}

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
