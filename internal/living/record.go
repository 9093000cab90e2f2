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
	recordIndex  = 1 // a document replaces the one of its id, if any
	recordDelete = 2
)

// appendBody encodes a document after the number of its version, a uvarint:
//
//	length and bytes of id, title and text, count of further fields,
//	and length and bytes of the name and value of each; count of weighted terms, and length and
//	bytes of the term and the bits of the weight, u64, of each; lengths and counts are uvarints
func appendBody(dst []byte, d *corpus.Document) []byte {
	dst = appendText(appendText(appendText(dst, d.ID), d.Title), d.Text)
	dst = binary.AppendUvarint(dst, uint64(len(d.Extra)))
	for i := range d.Extra {
		dst = appendText(appendText(dst, d.Extra[i].Name), d.Extra[i].Value)
	}
	dst = binary.AppendUvarint(dst, uint64(len(d.Vector)))
	for i := range d.Vector {
		dst = binary.LittleEndian.AppendUint64(appendText(dst, d.Vector[i].Term), math.Float64bits(d.Vector[i].Weight))
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// decodeRecord returns the version number and the document, only the id of which is set for a deletion.
// The error wraps base.ErrCorrupt.
func decodeRecord(kind byte, payload []byte) (number uint64, d *corpus.Document, err error) {
	r := recordReader{src: payload}
	number, d = r.uvarint(), new(corpus.Document)
	d.ID = r.text()
	switch kind {
	case recordDelete:
	case recordIndex:
		d.Title, d.Text = r.text(), r.text()
		for n := r.uvarint(); n > 0 && !r.bad; n-- {
			d.Extra = append(d.Extra, corpus.Field{Name: r.text(), Value: r.text()})
		}
		for n := r.uvarint(); n > 0 && !r.bad; n-- {
			d.Vector = append(d.Vector, corpus.TermWeight{Term: r.text(), Weight: r.float()})
		}
	default:
		return 0, nil, fmt.Errorf("record of type %d: %w", kind, base.ErrVersion)
	}
	if r.bad || len(r.src) > 0 {
		return 0, nil, fmt.Errorf("record of type %d: %w", kind, base.ErrCorrupt)
	}
	return number, d, nil
}

// recordReader reads zero values after the end, which sets bad.
type recordReader struct {
	src []byte
	bad bool
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

func (r *recordReader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.src)) {
		r.src, r.bad = nil, true
		return ""
	}
	s := string(r.src[:n])
	r.src = r.src[n:]
	return s
}
