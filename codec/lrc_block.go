package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// A block is the list of its gaps to the base, minus one, in one segment:
//
//	+-----------------+---------------------+------------+
//	| slope: uvarint  | intercept: varint   | deviations |
//	+-----------------+---------------------+------------+
//
// The slope has units of 2^-8 and is omitted if the block has one DocID. The width byte is the
// deviations'.
const blockSlopeShift = 24

// AppendDocIDs implements Codec.
func (c Regression) AppendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	var gaps, deviations [BlockLen]uint32
	n := len(docIDs)
	for i, d := range docIDs {
		gaps[i] = d - base - 1
	}
	var slope uint64
	if n > 1 {
		slope = contraction.Fit(gaps[:n]).Slope >> blockSlopeShift
		dst = binary.AppendUvarint(dst, slope)
		slope <<= blockSlopeShift
	}
	var e lrcEncoder
	cut, _ := e.least(gaps[:n], 0, slope)
	dst = binary.AppendVarint(dst, cut)
	for i, d := range gaps[:n] {
		deviations[i] = uint32(int64(d) - rise(i, slope) - cut)
	}
	return appendDeviations(dst, deviations[:n], c.Exceptions.or(NoExceptions, MaxExceptions))
}

// DecodeDocIDs implements Codec.
func (c Regression) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	if uint(n-1) >= BlockLen || width&lrcWidthMask > maxWidth {
		return 0, checkBlock(c.name(), len(src), bitpack.PackedSize(n, width&lrcWidthMask), n, width&lrcWidthMask, maxWidth)
	}
	at := 0
	s := lrcSegment{n: n}
	if n > 1 {
		slope, size := binary.Uvarint(src)
		if size <= 0 || slope >= 1<<(64-blockSlopeShift) {
			return 0, fmt.Errorf("%s: slope of a block: %w", c.name(), ErrCorrupt)
		}
		s.slope, at = slope<<blockSlopeShift, size
	}
	cut, size := binary.Varint(src[at:])
	if size <= 0 {
		return 0, fmt.Errorf("%s: intercept of a block: %w", c.name(), ErrCorrupt)
	}
	at += size
	s.start = uint64(uint32(cut)) << 32
	if err := s.openDeviations(src[at:], width); err != nil {
		return 0, fmt.Errorf("%s: %w", c.name(), err)
	}
	first := base + 1 // the least DocID: gaps count from here, modulo 2^32
	s.start += uint64(first) << 32
	if _, err := s.decode(dst[:n], 0, int64(first)-1); err != nil {
		return 0, fmt.Errorf("%s: %w", c.name(), err)
	}
	return at + s.size, nil
}
