package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/line"
)

// Deviations are stored with ParaPFor (Ao et al., Appendix D); only the width byte's flag
// lrcExceptions adds the parts from count on:
//
//	+-------------------+----------+------+------+------------------+---------------+
//	| lows: n*b bits    | count u32| ib u8| hb u8| indexes: count*ib| highs: *hb    |
//	+-------------------+----------+------+------+------------------+---------------+
//
// Each bit array is padded to whole bytes. Indexes increase strictly. Exception j is
// lows[indexes[j]] | highs[j] << b.
const (
	lrcExceptions = 0x80
	// Lines or values exceed 2^31: the line's inverse may be wrong by a multiple of 2^32.
	lrcWide      = 0x40
	lrcWidthMask = 0x3f

	exceptionsHeader = 6
)

func appendDeviations(dst []byte, values []uint32, share Share) (out []byte, width uint8) {
	counts := countWidths(values)
	most := int(counts.widest())
	b := int(counts.widthFor(share.limit(len(values))))
	if share == SmallestSize {
		b = int(smallestWidth(0, uint8(most), func(b uint8) int { return counts.paraPForSize(len(values), b) }))
	}
	count := counts.over(b)
	dst = appendLows(dst, values, uint8(b))
	if count == 0 {
		return dst, uint8(b)
	}
	indexes, highs := make([]uint32, 0, count), make([]uint32, 0, count)
	for i, v := range values {
		if bits.Len32(v) > b {
			indexes = append(indexes, uint32(i))
			highs = append(highs, v>>b)
		}
	}
	ib, hb := uint8(bits.Len32(indexes[count-1])), uint8(most-b)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(count))
	dst = append(dst, ib, hb)
	dst = bitpack.Append(dst, indexes, ib)
	return bitpack.Append(dst, highs, hb), uint8(b) | lrcExceptions
}

// over returns the number of values that need more than b bits.
func (c *widthCounts) over(b int) (n int) {
	for _, k := range c[b+1:] {
		n += k
	}
	return n
}

// paraPForSize estimates the bytes of n values with b low bits; indexes may need fewer.
func (c *widthCounts) paraPForSize(n int, b uint8) int {
	size, count := bitpack.PackedSize(n, b), c.over(int(b))
	if count > 0 {
		ib := uint8(bits.Len(uint(n - 1)))
		size += exceptionsHeader + bitpack.PackedSize(count, ib) + bitpack.PackedSize(count, c.widest()-b)
	}
	return size
}

func appendLows(dst []byte, values []uint32, width uint8) []byte {
	mask := uint32(1)<<width - 1 // all bits at 32
	lows := make([]uint32, len(values))
	for i, v := range values {
		lows[i] = v & mask
	}
	return bitpack.Append(dst, lows, width)
}

// DocID j of n is the upper half of start + j*slope, plus its deviation, modulo 2^32.
type lrcSegment struct {
	start, slope uint64
	n            int
	width        uint8  // b
	lows         []byte // at least n values, up to the end of the list
	size         int    // bytes of lows in this segment

	// Exceptions, if count > 0.
	count   int
	ib, hb  uint8
	indexes []byte
	highs   []byte
}

// openDeviations locates the s.n deviations at the start of src; w is their width byte.
func (s *lrcSegment) openDeviations(src []byte, w uint8) error {
	s.width, s.count = w&lrcWidthMask, 0
	s.size = bitpack.PackedSize(s.n, s.width)
	if s.width > maxWidth || s.size > len(src) {
		return fmt.Errorf("%d deviations of width %d in %d bytes: %w", s.n, s.width, len(src), ErrCorrupt)
	}
	s.lows = src
	if w&lrcExceptions == 0 {
		return nil
	}
	src = src[s.size:]
	if len(src) < exceptionsHeader {
		return fmt.Errorf("exceptions in %d bytes: %w", len(src), ErrCorrupt)
	}
	s.count = int(binary.LittleEndian.Uint32(src))
	s.ib, s.hb = src[4], src[5]
	src = src[exceptionsHeader:]
	if s.count < 1 || s.count > s.n || s.ib > maxWidth || s.hb < 1 || s.hb+s.width > maxWidth {
		return fmt.Errorf("%d exceptions of %d, widths %d and %d+%d: %w", s.count, s.n, s.ib, s.width, s.hb, ErrCorrupt)
	}
	indexes, highs := bitpack.PackedSize(s.count, s.ib), bitpack.PackedSize(s.count, s.hb)
	if indexes+highs > len(src) {
		return fmt.Errorf("%d exceptions of widths %d and %d in %d bytes: %w", s.count, s.ib, s.hb, len(src), ErrCorrupt)
	}
	s.indexes, s.highs = src[:indexes:indexes], src[indexes:indexes+highs]
	s.size += exceptionsHeader + indexes + highs
	return nil
}

// totalWidth returns the maximum bits of a deviation.
func (s *lrcSegment) totalWidth() uint8 {
	if s.count > 0 {
		return s.width + s.hb
	}
	return s.width
}

// decode returns the last of DocIDs from to from+len(dst)-1. The first must be above last (-1:
// no limit). It may overwrite dst up to its capacity.
func (s *lrcSegment) decode(dst []uint32, from int, last int64) (int64, error) {
	n := len(dst)
	for at := 0; at < n; {
		at += s.unpack(dst[at:], from+at)
	}
	if s.count > 0 {
		if err := s.patch(dst, from); err != nil {
			return 0, err
		}
	}
	for at := 0; at < n; {
		v := s.start + uint64(from+at)*s.slope
		rising, size := false, min(n-at, BlockLen)
		if size == BlockLen {
			rising = line.Add((*[BlockLen]uint32)(dst[at:]), v, s.slope)
		} else {
			rising = line.AddTail(dst[at:], v, s.slope)
		}
		if !rising || int64(dst[at]) <= last {
			return 0, fmt.Errorf("DocIDs do not increase, or exceed 2^32: %w", ErrCorrupt)
		}
		at += size
		last = int64(dst[at-1])
	}
	if last == int64(NoBase) {
		return 0, fmt.Errorf("a DocID is %d: %w", NoBase, ErrCorrupt)
	}
	return last, nil
}

// unpack writes low bits from deviation from on, and returns their number, at most len(dst).
func (s *lrcSegment) unpack(dst []uint32, from int) int {
	// Values whose index is a multiple of 8 begin at a byte.
	src := s.lows[from/8*int(s.width):]
	if from%8 != 0 || cap(dst) < BlockLen || len(src) < 16*int(s.width)+bitpack.Slack {
		return s.unpackAside(dst, src, from%8)
	}
	bitpack.Unpack((*[BlockLen]uint32)(dst[:BlockLen]), src, s.width, 0)
	return min(len(dst), BlockLen)
}

// unpackAside is unpack for values that cannot be unpacked in place.
func (s *lrcSegment) unpackAside(dst []uint32, src []byte, from int) int {
	var padded [16*maxWidth + bitpack.Slack]byte
	if len(src) < 16*int(s.width)+bitpack.Slack {
		copy(padded[:], src)
		src = padded[:]
	}
	var block [BlockLen]uint32
	bitpack.Unpack(&block, src, s.width, 0)
	return copy(dst, block[from:])
}

// patch adds the high bits of exceptions to dst, which begins at deviation from.
func (s *lrcSegment) patch(dst []uint32, from int) error {
	end := from + len(dst)
	last := from - 1
	for j := s.exceptionFrom(from); j < s.count; j++ {
		i := int(bitpack.At(s.indexes, j, s.ib))
		if i <= last || i >= s.n {
			return fmt.Errorf("exception %d of %d at %d, after %d: %w", j, s.count, i, last, ErrCorrupt)
		}
		if i >= end {
			return nil
		}
		dst[i-from] |= bitpack.At(s.highs, j, s.hb) << s.width
		last = i
	}
	return nil
}

// exceptionFrom returns the first exception whose index is at least i.
func (s *lrcSegment) exceptionFrom(i int) int {
	lo, hi := 0, s.count
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if int(bitpack.At(s.indexes, mid, s.ib)) < i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// at returns DocID j, modulo 2^32, as decode does if it accepts the segment. Exceptions are
// searched at deviation from, at most j, or later.
func (s *lrcSegment) at(j, from int) uint32 {
	deviation := bitpack.At(s.lows, j, s.width)
	if s.count > 0 {
		for e := s.exceptionFrom(from); e < s.count; e++ {
			if i := int(bitpack.At(s.indexes, e, s.ib)); i >= j {
				if i == j {
					deviation |= bitpack.At(s.highs, e, s.hb) << s.width
				}
				break
			}
		}
	}
	return uint32((s.start+uint64(j)*s.slope)>>32) + deviation
}
