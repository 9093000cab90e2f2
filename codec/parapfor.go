package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// ParaPFor keeps the low b bits of each value of a segment in its slot; values that do not fit
// are exceptions. One array holds their indices with ib bits each, another their upper bits
// with hb bits each, so that threads can patch in parallel. DocIDs are stored as gaps minus
// one, frequencies minus one.
//
//	 1 byte   2 bytes if bit 64   n*b bits     en*ib bits   en*hb bits
//	+--------+-------------------+------------+------------+------------+
//	| b, 64  | en-1 | ib | hb-1  | slots      | indices    | uppers     |
//	+--------+-------------------+------------+------------+------------+
//
// Each array begins at a byte. The first byte is b, plus 64 if there are exceptions. Only
// exceptions add the next two bytes, little endian: en-1 in the lowest 7 bits, ib in the next 3
// and hb-1 in the next 5. A block is its segments in order; a single segment's first byte is
// the block's width byte, which is otherwise 0.
//
// Worked bytes: frequencies 2, 1, 6, 2 with one exception in four have b=1 and the exception 5
// = 2<<1 | 1 at index 2, so ib and hb are 2. First byte 0x41, header 0 | 2<<7 | 1<<10 = 0x0500,
// slots 1, 0, 1, 1 as 0x0d, index 0x02, upper part 0x02: 41 00 05 0d 02 02. By default, b=3 is
// smaller: 03 41 03 (tested).
//
// Ao et al., PVLDB 4(8), 2011, Appendix D (see Regression). We differ: ib and hb are ⌈log2(max
// + 1)⌉, because the paper's ⌈log2(max)⌉ is too small for a power of two; the paper gives no
// widths of the header fields; it optimises the share of exceptions over a collection, while
// the default here is the b that makes each segment smallest.
type ParaPFor struct {
	// Exceptions is the maximum share of exceptions; the default is SmallestSize. The paper
	// measures 0 to 0.6 (Figure 7).
	Exceptions Share
	// Segment is the number of values that share a b: 32, 64 (the default, as in §6.2) or 128.
	// Others are changed as in NewPFD.
	Segment int
}

var _ Codec = ParaPFor{}

const (
	paraPForName    = "parapfor"
	paraPForSegment = 64
)

func newParaPFor(p *params) Codec {
	return ParaPFor{Exceptions: p.share(SmallestSize, MaxExceptions), Segment: p.segment(paraPForSegment)}
}

// Name returns "parapfor", with all non-default parameters.
func (c ParaPFor) Name() string {
	return spec(paraPForName, c.Exceptions.pair(SmallestSize, MaxExceptions), given(segmentKey, c.segments().length, paraPForSegment))
}

func (c ParaPFor) segments() segments {
	return segments{name: paraPForName, kind: indexedSegment, share: c.Exceptions.or(SmallestSize, MaxExceptions), length: segmentLen(c.Segment, paraPForSegment)}
}

// AppendDocIDs implements Codec.
func (c ParaPFor) AppendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	return c.segments().appendDocIDs(dst, base, docIDs)
}

// DecodeDocIDs implements Codec.
func (c ParaPFor) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	return c.segments().decodeDocIDs(dst, src, base, n, width)
}

// AppendFreqs implements Codec.
func (c ParaPFor) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	return c.segments().appendFreqs(dst, freqs)
}

// DecodeFreqs implements Codec.
func (c ParaPFor) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	return c.segments().decodeFreqs(dst, src, n, width)
}

// FreqAt implements Codec.
func (c ParaPFor) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	return c.segments().freqAt(src, i, n, width)
}

const indexedHeader = 2

// appendIndexed appends a segment except for its first byte, which it returns. It
// modifies values.
func appendIndexed(dst []byte, values []uint32, share Share) ([]byte, uint8) {
	counts := countWidths(values)
	widest := counts.widest()
	var b uint8
	if share == SmallestSize {
		b = smallestIndexed(values, &counts)
	} else {
		b = counts.widthFor(share.limit(len(values)))
	}
	if b == widest {
		return bitpack.Append(dst, values, b), b
	}
	var indices, uppers [BlockLen]uint32
	n := 0
	for i, v := range values {
		if v>>b > 0 {
			indices[n], uppers[n] = uint32(i), v>>b
			n++
		}
		values[i] &= 1<<b - 1
	}
	ib, hb := uint8(bits.Len32(indices[n-1])), widest-b
	dst = binary.LittleEndian.AppendUint16(dst, uint16(n-1)|uint16(ib)<<7|uint16(hb-1)<<10)
	dst = bitpack.Append(dst, values, b)
	dst = bitpack.Append(dst, indices[:n], ib)
	return bitpack.Append(dst, uppers[:n], hb), b | exceptionBit
}

func smallestIndexed(values []uint32, counts *widthCounts) uint8 {
	var lastOf [maxWidth + 2]int // index of the last value of at least this width
	for i, v := range values {
		lastOf[bits.Len32(v)] = i
	}
	for w := maxWidth; w >= 0; w-- {
		lastOf[w] = max(lastOf[w], lastOf[w+1])
	}
	widest := counts.widest()
	n, exceptions := len(values), 0
	best, bestSize := widest, bitpack.PackedSize(n, widest)
	for b := int(widest) - 1; b >= 0; b-- {
		exceptions += counts[b+1]
		ib := uint8(bits.Len(uint(lastOf[b+1])))
		size := indexedHeader + bitpack.PackedSize(n, uint8(b)) +
			bitpack.PackedSize(exceptions, ib) + bitpack.PackedSize(exceptions, widest-uint8(b))
		if size < bestSize {
			best, bestSize = uint8(b), size
		}
	}
	return best
}

type indexedExceptions struct {
	src             []byte // the segment and all bytes after it
	indices, uppers int    // offsets of the arrays
	n               int
	ib, hb          uint8
}

// parse locates the parts of a segment, checks their sizes, and returns the segment's
// size.
func (p *indexedExceptions) parse(src []byte, n int, width uint8) (int, error) {
	b := width & bMask
	if width > bMask|exceptionBit || b >= maxWidth || len(src) < indexedHeader {
		return 0, checkBlock(paraPForName, len(src), indexedHeader, n, width, exceptionBit|maxWidth-1)
	}
	header := binary.LittleEndian.Uint16(src)
	p.n = int(header&127) + 1
	p.ib, p.hb = uint8(header>>7&7), uint8(header>>10)+1
	indices := indexedHeader + bitpack.PackedSize(n, b)
	uppers := indices + bitpack.PackedSize(p.n, p.ib)
	end := uppers + bitpack.PackedSize(p.n, p.hb)
	if p.n > n || p.hb+b > maxWidth || len(src) < end {
		return 0, fmt.Errorf("parapfor: %d exceptions of %d+%d bits in a segment of %d in %d bytes: %w", p.n, b, p.hb, n, len(src), ErrCorrupt)
	}
	p.src, p.indices, p.uppers = src, indices, uppers
	return end, nil
}

func (p *indexedExceptions) exception(k int) (index, upper uint32) {
	return fieldAt(p.src, 8*p.indices+k*int(p.ib), p.ib), fieldAt(p.src, 8*p.uppers+k*int(p.hb), p.hb)
}

// fieldAt returns the number of width bits, at most 32, at a bit of src.
func fieldAt(src []byte, bit int, width uint8) uint32 {
	if at := bit >> 3; at+8 <= len(src) {
		return uint32(binary.LittleEndian.Uint64(src[at:]) >> (bit & 7) & (1<<(width&63) - 1))
	}
	return lastFieldAt(src, bit, width)
}

// lastFieldAt is fieldAt where fewer than 8 bytes are left.
func lastFieldAt(src []byte, bit int, width uint8) uint32 {
	var word [8]byte
	copy(word[:], src[min(bit>>3, len(src)):])
	return uint32(binary.LittleEndian.Uint64(word[:]) >> (bit & 7) & (1<<(width&63) - 1))
}

func (p *indexedExceptions) patch(dst *[BlockLen]uint32, to *patches) {
	for k := range p.n {
		index, upper := p.exception(k)
		to.add(dst, index, upper)
	}
}

func indexedAt(src []byte, i, n int, width uint8) (uint32, error) {
	var p indexedExceptions
	if _, err := p.parse(src, n, width); err != nil {
		return 0, err
	}
	b := width & bMask
	v := bitpack.At(src[indexedHeader:], i, b)
	low, high := 0, p.n
	for low < high {
		mid := (low + high) / 2
		if index, _ := p.exception(mid); index < uint32(i) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < p.n {
		if index, upper := p.exception(low); index == uint32(i) {
			v |= upper << b
		}
	}
	return v, nil
}
