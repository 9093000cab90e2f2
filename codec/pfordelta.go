package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/pfor"
)

// PForDelta keeps a value that fits into b bits in its slot. Other values are exceptions, which
// follow the slots in full; their slots form a linked list of distances to the next, minus one.
// If that exceeds b bits, a value in between becomes a (compulsory) exception too. DocIDs are
// stored as gaps minus one, frequencies minus one.
//
//	bit 0      b        2b             n*b
//	 +---------+---------+---    ---+-------+-------+-------+---------+-----+
//	 | slot 0  | slot 1  |   ...    | 0 to 7| first | count | value 0 | ... |
//	 +---------+---------+---    ---+-------+-------+-------+---------+-----+
//	                                        |       only with exceptions    |
//
// first is the position of the first exception, count the number of exceptions minus one, both
// one byte.
// Values take 1, 2 or 4 bytes, little endian, as the largest needs. The width byte is b plus 64
// times a form: 0 without exceptions; 1, 2 or 3 for values of 1, 2 or 4 bytes. The slot of the
// last exception is 0.
//
// FreqAt follows the list of exceptions up to the slot (Ding et al., WWW 2009, §8.2; see
// PForDeltaRec).
//
// Worked bytes (Liu, Wang and Swanson, PPoPP 2018, Figure 3; see EF): d-gaps 21, 42, 9, 13, 29,
// 68, 18, 47 with b=5 have the exceptions 42, 68 and 47, at 1, 5 and 7; their slots hold 5-1-1
// = 3, 7-5-1 = 1 and 0 (tested).
//
// Zukowski, Héman, Nes and Boncz, "Super-scalar RAM-CPU cache compression", ICDE 2006, §3;
// Héman, "Super-scalar database compression between RAM and CPU cache", MSc thesis, 2005;
// Zhang, Long and Suel, "Performance of compressed inverted list caching in search engines",
// WWW 2008, §3. We differ: a block stores the number of its exceptions, so that its size is
// known without following them; their size is chosen for each block, as in Zhang et al. Like
// Zukowski et al., we count compulsory exceptions when choosing b; Plain does not.
//
// Decoders check that each step leads forward within the block.
type PForDelta struct {
	// Exceptions is the maximum share, including compulsory ones. The default is 0.1, as in all
	// papers.
	Exceptions Share
	// Segment is as in NewPFD.
	Segment int
	// Plain follows Figure 3 literally: exceptions take 4 bytes each, and compulsory exceptions
	// are not counted in the share, so that narrow slots have many.
	Plain bool
}

var _ Codec = PForDelta{}

const pforDeltaName = "pfordelta"

func newPForDelta(p *params) Codec {
	return PForDelta{Exceptions: p.share(paperShare, 1), Segment: p.segment(BlockLen), Plain: p.int("plain", 0, 0, 1) == 1}
}

// Name returns "pfordelta", with all non-default parameters.
func (c PForDelta) Name() string {
	plain := ""
	if c.Plain {
		plain = "plain=1"
	}
	return spec(pforDeltaName, c.Exceptions.pair(paperShare, 1), plain, given(segmentKey, c.segments().length, BlockLen))
}

func (c PForDelta) segments() segments {
	kind := linkedSegment
	if c.Plain {
		kind = plainSegment
	}
	return segments{name: pforDeltaName, kind: kind, share: c.Exceptions.or(paperShare, 1), length: segmentLen(c.Segment, BlockLen)}
}

// AppendDocIDs implements Codec.
func (c PForDelta) AppendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	return c.segments().appendDocIDs(dst, base, docIDs)
}

// DecodeDocIDs implements Codec.
func (c PForDelta) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	if segmentLen(c.Segment, BlockLen) != BlockLen {
		return c.segments().decodeDocIDs(dst, src, base, n, width)
	}
	// A direct path without exceptions: 15 ns instead of 21.
	if width <= bMask {
		return SIMDBP{}.DecodeDocIDs(dst, src, base, n, width)
	}
	var p pfor.Block
	size, err := parseLinked(&p, src, n, width)
	if err != nil {
		return 0, err
	}
	if !pfor.DecodeGaps(dst, &p, base) {
		return 0, errList(&p)
	}
	return size, checkSums(pforDeltaName, dst[:n], base, mostLinked(&p)+uint64(n) < 1<<32)
}

// AppendFreqs implements Codec.
func (c PForDelta) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	return c.segments().appendFreqs(dst, freqs)
}

// DecodeFreqs implements Codec.
func (c PForDelta) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	if width <= bMask && segmentLen(c.Segment, BlockLen) == BlockLen {
		return SIMDBP{}.DecodeFreqs(dst, src, n, width)
	}
	return c.segments().decodeFreqs(dst, src, n, width)
}

// FreqAt implements Codec.
func (c PForDelta) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	return c.segments().freqAt(src, i, n, width)
}

// appendLinked appends a segment, modifies values, and returns the width byte.
func appendLinked(dst []byte, values []uint32, share Share, plain bool) ([]byte, uint8) {
	b := linkedWidth(values, share, plain)
	l := linkExceptions(values, b)
	if l.n == 0 {
		return bitpack.Append(dst, values, b), b
	}
	var exceptions [BlockLen]uint32
	for k, at := range l.at[:l.n] {
		exceptions[k] = values[at]
		values[at] = 0
		if k+1 < l.n {
			values[at] = uint32(l.at[k+1]-at) - 1
		}
	}
	dst = bitpack.Append(dst, values, b)
	dst = append(dst, l.at[0], uint8(l.n-1))
	size := l.bytes(plain)
	dst = appendWhole(dst, exceptions[:l.n], size)
	return dst, b | uint8(bits.Len(uint(size)))<<6
}

func linkedWidth(values []uint32, share Share, plain bool) uint8 {
	counts := countWidths(values)
	if share == SmallestSize {
		return smallestWidth(0, counts.widest(), func(b uint8) int {
			size := bitpack.PackedSize(len(values), b)
			if l := linkExceptions(values, b); l.n > 0 {
				size += 2 + l.n*l.bytes(plain)
			}
			return size
		})
	}
	limit := share.limit(len(values))
	b := counts.widthFor(limit)
	for ; !plain && b < counts.widest(); b++ {
		if l := linkExceptions(values, b); l.n <= limit {
			break
		}
	}
	return b
}

// linked holds a block's exceptions, with compulsory ones.
type linked struct {
	at      [BlockLen]uint8 // positions
	n       int
	largest uint32
}

func linkExceptions(values []uint32, b uint8) (l linked) {
	add := func(i int) {
		l.at[l.n] = uint8(i)
		l.n++
		l.largest = max(l.largest, values[i])
	}
	for i, v := range values {
		if bits.Len32(v) <= int(b) {
			continue
		}
		for l.n > 0 && i-int(l.at[l.n-1]) > 1<<b {
			add(int(l.at[l.n-1]) + 1<<b)
		}
		add(i)
	}
	return l
}

// bytes returns the size of one exception in bytes.
func (l *linked) bytes(plain bool) int {
	if plain {
		return 4
	}
	return bytesFor(l.largest)
}

// bytesFor returns the bytes per number if largest is the largest: 1, 2 or 4.
func bytesFor(largest uint32) int {
	switch {
	case largest < 1<<8:
		return 1
	case largest < 1<<16:
		return 2
	}
	return 4
}

func appendWhole(dst []byte, values []uint32, size int) []byte {
	for _, v := range values {
		switch size {
		case 1:
			dst = append(dst, uint8(v))
		case 2:
			dst = binary.LittleEndian.AppendUint16(dst, uint16(v))
		default:
			dst = binary.LittleEndian.AppendUint32(dst, v)
		}
	}
	return dst
}

func wholeAt(src []byte, i, size int) uint32 {
	switch size {
	case 1:
		return uint32(src[i])
	case 2:
		return uint32(binary.LittleEndian.Uint16(src[2*i:]))
	}
	return binary.LittleEndian.Uint32(src[4*i:])
}

// parseLinked locates and checks the parts of a segment, and returns its size.
func parseLinked(p *pfor.Block, src []byte, n int, width uint8) (int, error) {
	b, size := width&bMask, 1<<(width>>6)/2
	head := bitpack.PackedSize(n, b)
	if b >= maxWidth || uint(n-1) >= BlockLen || len(src) < head+2 {
		return 0, checkBlock(pforDeltaName, len(src), head+2, n, b, maxWidth-1)
	}
	p.Slots, p.Width, p.N = src, b, n
	p.First, p.Count, p.Size = int(src[head]), int(src[head+1])+1, size
	end := head + 2 + p.Count*size
	if p.Count > n || len(src) < end {
		return 0, fmt.Errorf("pfordelta: %d exceptions of %d bytes in a block of %d in %d bytes: %w", p.Count, size, n, len(src), ErrCorrupt)
	}
	p.Values = src[head+2 : end]
	return end, nil
}

// mostLinked returns an upper bound of the sum of a segment's values.
func mostLinked(p *pfor.Block) uint64 {
	sum := uint64(p.N) << p.Width
	if p.Size < 4 {
		return sum + uint64(p.Count)<<(8*p.Size)
	}
	for k := range p.Count {
		sum += uint64(wholeAt(p.Values, k, 4))
	}
	return sum
}

// errList reports that the list of exceptions leaves the segment.
func errList(p *pfor.Block) error {
	return fmt.Errorf("pfordelta: %d exceptions from position %d leave the segment of %d values: %w", p.Count, p.First, p.N, ErrCorrupt)
}

func linkedAt(src []byte, i, n int, width uint8) (uint32, error) {
	var p pfor.Block
	if _, err := parseLinked(&p, src, n, width); err != nil {
		return 0, err
	}
	at := uint64(p.First)
	for k := 0; k < p.Count && at <= uint64(i); k++ {
		if at == uint64(i) {
			return wholeAt(p.Values, k, p.Size), nil
		}
		at += uint64(bitpack.At(src, int(at), p.Width)) + 1
	}
	return bitpack.At(src, i, p.Width), nil
}
