package postings

import (
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// NumBlocks is the list's number of blocks.
func (m *Meta) NumBlocks() int { return (int(m.DocFreq) + codec.BlockLen - 1) / codec.BlockLen }

// Append encodes the record in vbytes and single bytes for widths; brackets mark optional
// fields.
//
//	DocFreq*2 + (1 if positions) | CollFreq - DocFreq | Offset | Length
//	[one block: First | Last - First | DocWidth | FreqWidth]
//	Max | [Kth[i] for DocFreq >= Kth[i]] | FrontierOffset | FrontierLength
//	[positions: PosOffset | PosLength]
//
// The empty list is one byte 0.
func (m *Meta) Append(dst []byte) []byte {
	hasPositions := uint64(0)
	if m.PosLength > 0 {
		hasPositions = 1
	}
	dst = binary.AppendUvarint(dst, uint64(m.DocFreq)<<1|hasPositions)
	if m.DocFreq == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, m.CollFreq-uint64(m.DocFreq))
	dst = binary.AppendUvarint(dst, m.Offset)
	dst = binary.AppendUvarint(dst, m.Length)
	if m.NumBlocks() == 1 {
		dst = binary.AppendUvarint(dst, uint64(m.First))
		dst = binary.AppendUvarint(dst, uint64(m.Last-m.First))
		dst = append(dst, m.DocWidth, m.FreqWidth)
	}
	dst = binary.AppendUvarint(dst, uint64(m.Max))
	for i, k := range Kth {
		if int(m.DocFreq) >= k {
			dst = binary.AppendUvarint(dst, uint64(m.Kth[i]))
		}
	}
	dst = binary.AppendUvarint(dst, m.FrontierOffset)
	dst = binary.AppendUvarint(dst, m.FrontierLength)
	if hasPositions == 1 {
		dst = binary.AppendUvarint(dst, m.PosOffset)
		dst = binary.AppendUvarint(dst, m.PosLength)
	}
	return dst
}

// metaReader stops at the first invalid field.
type metaReader struct {
	src   []byte
	at    int
	field string // first invalid field
}

func (r *metaReader) uint(field string, limit uint64) uint64 {
	if r.field != "" {
		return 0
	}
	if r.at < len(r.src) && r.src[r.at] < 0x80 && uint64(r.src[r.at]) <= limit { // most fields
		r.at++
		return uint64(r.src[r.at-1])
	}
	v, n := binary.Uvarint(r.src[r.at:])
	if n <= 0 || v > limit {
		r.field = field
		return 0
	}
	r.at += n
	return v
}

func (r *metaReader) byte(field string) uint8 {
	if r.field != "" {
		return 0
	}
	if r.at >= len(r.src) {
		r.field = field
		return 0
	}
	r.at++
	return r.src[r.at-1]
}

// DecodeMeta decodes a record at the start of src and returns its size. List.Open checks the
// locations.
func DecodeMeta(src []byte) (m Meta, n int, err error) {
	const (
		maxOffset = 1<<63 - 1
		maxLength = 1 << 40
	)
	r := metaReader{src: src}
	head := r.uint("DocFreq", base.MaxDocs<<1|1)
	m.DocFreq = uint32(head >> 1)
	if m.DocFreq == 0 {
		if r.field == "" && head != 0 {
			r.field = "DocFreq"
		}
		return Meta{}, r.at, r.err()
	}
	m.CollFreq = uint64(m.DocFreq) + r.uint("CollFreq", maxOffset)
	m.Offset = r.uint("Offset", maxOffset)
	m.Length = r.uint("Length", maxLength)
	if m.NumBlocks() == 1 {
		m.First = uint32(r.uint("First", base.MaxDocs))
		m.Last = m.First + uint32(r.uint("Last", uint64(base.MaxDocs-m.First)))
		m.DocWidth = r.byte("DocWidth")
		m.FreqWidth = r.byte("FreqWidth")
		if r.field == "" && uint64(m.Last-m.First) < uint64(m.DocFreq)-1 {
			r.field = "Last"
		}
	}
	m.Max = score.Bound(r.uint("Max", uint64(score.MaxBound)))
	for i, k := range Kth {
		if int(m.DocFreq) >= k {
			m.Kth[i] = score.Bound(r.uint("Kth", uint64(m.Max)))
		}
	}
	m.FrontierOffset = r.uint("FrontierOffset", maxOffset)
	m.FrontierLength = r.uint("FrontierLength", maxLength)
	if head&1 == 1 {
		m.PosOffset = r.uint("PosOffset", maxOffset)
		m.PosLength = r.uint("PosLength", maxLength)
		if r.field == "" && m.PosLength == 0 {
			r.field = "PosLength"
		}
	}
	if err := r.err(); err != nil {
		return Meta{}, 0, err
	}
	return m, r.at, nil
}

func (r *metaReader) err() error {
	if r.field == "" {
		return nil
	}
	return fmt.Errorf("list record: %s at byte %d: %w", r.field, r.at, base.ErrCorrupt)
}
