package impact

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
)

// Form is the storage form of a segment's DocIDs.
type Form uint8

// Each segment has its form.
const (
	// Raw is 32-bit DocIDs, little endian, for segments too short for decoding to pay.
	Raw Form = iota
	// Blocks is blocks of 128 encoded DocIDs.
	Blocks
	// Bitmap, for dense segments, has a bit for each document from the first to the last.
	Bitmap
	numForms
)

// String is the form's name.
func (f Form) String() string {
	if f < numForms {
		return [...]string{"raw", "blocks", "bitmap"}[f]
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// Posting is a document with the term's contribution.
type Posting struct {
	DocID  base.DocID
	Impact uint8 // at least 1
}

// List is a term's impact-ordered list: a plain value and a view into the mapped file, valid
// until Index.Close, or into memory.
type List struct {
	// DocFreq counts postings.
	DocFreq uint32
	// Max is the first segment's impact, the highest.
	Max         uint8
	numSegments int
	directory   []byte // its capacity extends over the data and Slack
	dataLen     uint64
	offset      uint64 // of the list in the file; else a number
	index       *Index
}

// ID identifies the list in its Index.
func (l *List) ID() base.ListID { return base.ListID(l.offset) }

// Index is the list's file.
func (l *List) Index() *Index { return l.index }

// NumSegments counts distinct impacts.
func (l *List) NumSegments() int { return l.numSegments }

// Segment holds a list's documents of one impact.
type Segment struct {
	Impact uint8
	Form   Form
	Count  uint32
	// Bytes is the encoding, with Slack readable bytes behind.
	Bytes []byte
}

// Slack bytes after a segment may be read; their content is undefined.
const Slack = 32

// AppendSegments appends the segments by decreasing impact. The error for a damaged directory
// wraps base.ErrCorrupt.
func (l *List) AppendSegments(dst []Segment) ([]Segment, error) {
	r := reader{src: l.directory}
	data := l.directory[len(l.directory) : uint64(len(l.directory))+l.dataLen]
	impact, sum := uint64(256), uint64(0)
	for i := range l.numSegments {
		fall := r.uint(255)
		head := r.uint(base.MaxDocs<<formBits | formMask)
		s := Segment{Form: Form(head & formMask), Count: uint32(head >> formBits)}
		size := 4 * uint64(s.Count)
		if s.Form != Raw {
			size = r.uint(uint64(len(data)))
		}
		if r.bad || fall == 0 || fall >= impact || s.Form >= numForms || s.Count == 0 || size > uint64(len(data)) {
			return dst, fmt.Errorf("segment %d of %d: directory: %w", i, l.numSegments, base.ErrCorrupt)
		}
		impact -= fall
		s.Impact = uint8(impact)
		s.Bytes, data = data[:size], data[size:]
		sum += uint64(s.Count)
		dst = append(dst, s)
	}
	if len(r.src) != 0 || len(data) != 0 || sum != uint64(l.DocFreq) {
		return dst, fmt.Errorf("list of %d postings has %d, %d bytes too many: %w", l.DocFreq, sum, len(r.src)+len(data), base.ErrCorrupt)
	}
	return dst, nil
}

const (
	formBits = 2
	formMask = 1<<formBits - 1
)

type reader struct {
	src []byte
	bad bool
}

// Without a varint up to limit, uint sets bad and returns 0.
func (r *reader) uint(limit uint64) uint64 {
	v, n := binary.Uvarint(r.src)
	if n <= 0 || v > limit {
		r.bad = true
		return 0
	}
	r.src = r.src[n:]
	return v
}

// BitmapWords returns the words of a segment of Form Bitmap, 64 bits, little endian, and their
// first document, a multiple of 64. The last word contains the last document. Only Verify
// detects bits beyond the last document.
func (x *Index) BitmapWords(s *Segment) (first uint32, words []byte, err error) {
	if len(s.Bytes) < 4 || len(s.Bytes)%8 != 4 {
		return 0, nil, fmt.Errorf("impact %d: bitmap of %d bytes: %w", s.Impact, len(s.Bytes), base.ErrCorrupt)
	}
	word := binary.LittleEndian.Uint32(s.Bytes)
	words = s.Bytes[4:]
	if n := uint64(len(words) / 8); uint64(word)+n > (uint64(x.meta.NumDocs)+63)/64 {
		return 0, nil, fmt.Errorf("impact %d: bitmap of %d words from %d in %d documents: %w", s.Impact, n, word, x.meta.NumDocs, base.ErrCorrupt)
	}
	return word * 64, words, nil
}

// BlockReader decodes a segment of Form Blocks.
type BlockReader struct {
	codec   codec.Codec
	list    codec.ListCodec // nil unless the segment is encoded as a list
	segment Segment
	numDocs int
	i       int    // next block
	left    uint32 // number of DocIDs left
	at      int    // offset of the next block
	base    uint32 // last DocID before the next block
}

// ResetBlocks sets r to the first block of s.
func (x *Index) ResetBlocks(r *BlockReader, s *Segment) {
	*r = BlockReader{codec: x.codec, segment: *s, numDocs: x.meta.NumDocs, left: s.Count, base: codec.NoBase}
	if s.Count > codec.BlockLen {
		r.list = x.listCodec
	}
	if r.list == nil {
		r.at = numBlocks(s.Count) // after the widths
	}
}

func numBlocks(count uint32) int { return int((uint64(count) + codec.BlockLen - 1) / codec.BlockLen) }

// Last returns the last decoded DocID, which all later ones exceed, or codec.NoBase.
func (r *BlockReader) Last() uint32 { return r.base }

// Left counts the DocIDs left.
func (r *BlockReader) Left() uint32 { return r.left }

// Next decodes the next block, which must exist (Left), and returns its number of DocIDs: 1 to
// 128, increasing and valid. The rest of dst is undefined. It does not allocate. The error
// wraps base.ErrCorrupt.
func (r *BlockReader) Next(dst *[codec.BlockLen]uint32) (n int, err error) {
	s := &r.segment
	n = int(min(r.left, codec.BlockLen))
	if r.list != nil {
		n, err = r.list.DecodeBlock(dst, s.Bytes, int(s.Count), r.i)
		if err == nil && dst[0] < r.base+1 { // no base: uint32 arithmetic
			err = fmt.Errorf("first DocID is %d, after %d: %w", dst[0], r.base, base.ErrCorrupt)
		}
	} else if r.at > len(s.Bytes) {
		err = base.ErrCorrupt
	} else {
		var size int
		// With Slack, the last block needs no copy.
		src := s.Bytes[r.at : len(s.Bytes)+Slack]
		size, err = r.codec.DecodeDocIDs(dst, src, r.base, n, s.Bytes[r.i])
		if r.at += size; r.at > len(s.Bytes) && err == nil {
			err = base.ErrCorrupt
		}
	}
	if err != nil || n != int(min(r.left, codec.BlockLen)) || int64(dst[n-1]) >= int64(r.numDocs) {
		return 0, r.fail(dst, n, err)
	}
	r.base = dst[n-1]
	r.left -= uint32(n)
	r.i++
	return n, nil
}

func (r *BlockReader) fail(dst *[codec.BlockLen]uint32, n int, err error) error {
	if err == nil {
		err = fmt.Errorf("DocID %d of %d documents: %w", dst[(n-1)&(codec.BlockLen-1)], r.numDocs, base.ErrCorrupt)
	}
	return fmt.Errorf("impact %d: block %d: %w", r.segment.Impact, r.i, err)
}

// AppendDocIDs appends a segment's DocIDs, valid and increasing, as the simple oracle for other
// readers. The error wraps base.ErrCorrupt.
func (x *Index) AppendDocIDs(dst []base.DocID, s *Segment) ([]base.DocID, error) {
	from := len(dst)
	switch s.Form {
	case Raw:
		for i := range s.Count {
			dst = append(dst, base.DocID(binary.LittleEndian.Uint32(s.Bytes[4*i:])))
		}
	case Bitmap:
		first, words, err := x.BitmapWords(s)
		if err != nil {
			return dst, err
		}
		for i := 0; i < len(words); i += 8 {
			for w := binary.LittleEndian.Uint64(words[i:]); w != 0; w &= w - 1 {
				dst = append(dst, base.DocID(uint64(first)+8*uint64(i)+uint64(bits.TrailingZeros64(w))))
			}
		}
	case Blocks:
		var r BlockReader
		var block [codec.BlockLen]uint32
		for x.ResetBlocks(&r, s); r.Left() > 0; {
			n, err := r.Next(&block)
			if err != nil {
				return dst, err
			}
			for _, d := range block[:n] {
				dst = append(dst, base.DocID(d))
			}
		}
	}
	if len(dst)-from != int(s.Count) {
		return dst, fmt.Errorf("impact %d: %s of %d DocIDs, want %d: %w", s.Impact, s.Form, len(dst)-from, s.Count, base.ErrCorrupt)
	}
	for i, d := range dst[from:] {
		if int64(d) >= int64(x.meta.NumDocs) || i > 0 && d <= dst[from+i-1] {
			return dst, fmt.Errorf("impact %d: DocID %d, number %d, of %d documents: %w", s.Impact, d, i, x.meta.NumDocs, base.ErrCorrupt)
		}
	}
	return dst, nil
}
