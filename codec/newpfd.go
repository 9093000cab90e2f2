package codec

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// NewPFD keeps the low b bits of each value in its slot; values that do not fit are exceptions.
// Their positions (gaps minus one, the first from -1) and upper bits (minus one) follow in two
// Simple-16 arrays. DocIDs are stored as gaps minus one, frequencies minus one.
//
//	bit 0      b        2b             n*b
//	 +---------+---------+---    ---+-------+-------+----------------------------+
//	 | slot 0  | slot 1  |   ...    | 0 to 7| count | words: positions, uppers   |
//	 +---------+---------+---    ---+-------+-------+----------------------------+
//	                                        |       only with exceptions         |
//
// count, one byte, is the number of exceptions minus one; the width byte is b, plus 64 if there
// are any. A block without exceptions equals a simdbp block.
//
// Worked bytes: frequencies 2, 1, 6, 2 with b=1 have the exception 5 = 2<<1 | 1 at 2: slots 1,
// 0, 1, 1 are 0x0d; count 0; position 2 and upper 1, of 2 bits each: case 1, 1 | 2<<4 | 1<<6 =
// 0x61 (tested).
//
// Yan, Ding and Suel, "Inverted index compression and query processing with optimized document
// ordering", WWW 2009, §3 (NewPFD; with exceptions=best, OptPFD: the b that makes the block
// smallest). We differ: the two arrays are one sequence, which fills the word at their
// boundary; and b is large enough that 28 bits hold the upper bits.
type NewPFD struct {
	// Exceptions is the maximum share of exceptions; the default is the paper's 0.1.
	Exceptions Share
	// Segment is the number of values that share a b: 32, 64 (Ao et al., PVLDB 2011, §6.2) or
	// 128, the default. Other lengths are changed to the nearest valid one, upwards if
	// possible.
	Segment int
}

var _ Codec = NewPFD{}

const newPFDName = "newpfd"

func newNewPFD(p *params) Codec {
	return NewPFD{Exceptions: p.share(paperShare, 1), Segment: p.segment(BlockLen)}
}

// Name returns "newpfd", with all non-default parameters.
func (c NewPFD) Name() string {
	return spec(newPFDName, c.Exceptions.pair(paperShare, 1), given(segmentKey, c.segments().length, BlockLen))
}

func (c NewPFD) segments() segments {
	return segments{name: newPFDName, kind: s16Segment, share: c.Exceptions.or(paperShare, 1), length: segmentLen(c.Segment, BlockLen)}
}

// AppendDocIDs implements Codec.
func (c NewPFD) AppendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	return c.segments().appendDocIDs(dst, base, docIDs)
}

// DecodeDocIDs implements Codec.
func (c NewPFD) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	return c.segments().decodeDocIDs(dst, src, base, n, width)
}

// AppendFreqs implements Codec.
func (c NewPFD) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	return c.segments().appendFreqs(dst, freqs)
}

// DecodeFreqs implements Codec.
func (c NewPFD) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	return c.segments().decodeFreqs(dst, src, n, width)
}

// FreqAt implements Codec.
func (c NewPFD) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	return c.segments().freqAt(src, i, n, width)
}

// appendS16Segment appends a segment, modifies values, and returns the width byte.
func appendS16Segment(dst []byte, values []uint32, share Share) ([]byte, uint8) {
	counts := countWidths(values)
	least := counts.widest() - min(counts.widest(), s16Bits)
	var b uint8
	if share == SmallestSize {
		b = smallestWidth(least, counts.widest(), func(b uint8) int {
			size := bitpack.PackedSize(len(values), b)
			if n, arrays := s16Arrays(values, b); n > 0 {
				size += 1 + lengthS16(arrays[:2*n])
			}
			return size
		})
	} else {
		b = max(least, counts.widthFor(share.limit(len(values))))
	}
	n, arrays := s16Arrays(values, b)
	if n == 0 {
		return bitpack.Append(dst, values, b), b
	}
	for i := range values {
		values[i] &= 1<<b - 1
	}
	dst = append(bitpack.Append(dst, values, b), uint8(n-1))
	return appendS16(dst, arrays[:2*n]), b | exceptionBit
}

// s16Arrays returns n exceptions as they are stored: their positions, then their upper
// bits.
func s16Arrays(values []uint32, b uint8) (n int, arrays [2 * BlockLen]uint32) {
	for _, v := range values {
		if v>>b > 0 {
			n++
		}
	}
	k, last := 0, -1
	for i, v := range values {
		if v>>b > 0 {
			arrays[k], arrays[n+k] = uint32(i-last-1), v>>b-1
			k, last = k+1, i
		}
	}
	return n, arrays
}

type s16Exceptions struct {
	n     int
	words []byte
}

// parse locates the exceptions, checks their sizes, and returns the segment's size.
func (p *s16Exceptions) parse(src []byte, n int, width uint8) (int, error) {
	b := width & bMask
	head := bitpack.PackedSize(n, b)
	if width > bMask|exceptionBit || b >= maxWidth || len(src) < head+1 {
		return 0, checkBlock(newPFDName, len(src), head+1, n, width, exceptionBit|maxWidth-1)
	}
	p.n = int(src[head]) + 1
	size, ok := 0, false
	if p.n <= n {
		size, ok = sizeS16(src[head+1:], 2*p.n)
	}
	if !ok {
		return 0, fmt.Errorf("newpfd: %d exceptions of %d values in %d bytes: %w", p.n, n, len(src)-head, ErrCorrupt)
	}
	p.words = src[head+1 : head+1+size]
	return head + 1 + size, nil
}

// decode writes absolute positions, and upper bits minus one, to arrays.
func (p *s16Exceptions) decode(arrays *[2 * BlockLen]uint32) error {
	if _, ok := decodeS16(arrays[:2*p.n], p.words); !ok {
		return fmt.Errorf("newpfd: %d exceptions in %d bytes: %w", p.n, len(p.words), ErrCorrupt)
	}
	at := ^uint32(0)
	for k := range arrays[:p.n] {
		at += arrays[k] + 1
		arrays[k] = at
	}
	return nil
}

func (p *s16Exceptions) patch(dst *[BlockLen]uint32, to *patches) error {
	var arrays [2 * BlockLen]uint32
	if err := p.decode(&arrays); err != nil {
		return err
	}
	for k, at := range arrays[:p.n] {
		to.add(dst, at, arrays[p.n+k]+1)
	}
	return nil
}

func s16At(src []byte, i, n int, width uint8) (uint32, error) {
	var p s16Exceptions
	if _, err := p.parse(src, n, width); err != nil {
		return 0, err
	}
	var arrays [2 * BlockLen]uint32
	if err := p.decode(&arrays); err != nil {
		return 0, err
	}
	v := bitpack.At(src, i, width&bMask)
	if k, found := slices.BinarySearch(arrays[:p.n], uint32(i)); found {
		v |= (arrays[p.n+k] + 1) << (width & bMask)
	}
	return v, nil
}
