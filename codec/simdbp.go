package codec

import (
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// SIMDBP packs a block with the width of its largest value: value i at bit i*width, least
// significant bit first. n values take ceil(n*width/8) bytes. DocIDs are stored as gaps minus
// one, frequencies minus one.
//
//	bit 0        width       2*width
//	 +------------+------------+----    ----+---------+
//	 |  value 0   |  value 1   |    ...     | 0 to 7  |
//	 +------------+------------+----    ----+---------+
//	                                          zero bits
//
// Worked bytes: DocIDs 3, 5, 6 after NoBase are the gaps 3, 1, 0: width 2, 3 | 1<<2 | 0<<4 =
// 0x07 (tested).
//
// Lemire and Boytsov, "Decoding billions of integers per second through vectorization",
// Software: Practice and Experience 45(1), 2015, §4 (binary packing of blocks of 128). We
// differ: values lie in order (horizontal layout) rather than interleaved over four lanes, so
// that one can be read alone and the format is the same for every instruction set.
type SIMDBP struct{}

var _ Codec = SIMDBP{}

// Name returns "simdbp".
func (SIMDBP) Name() string { return "simdbp" }

const maxWidth = bitpack.MaxWidth

// AppendDocIDs implements Codec.
func (SIMDBP) AppendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	var all uint32
	prev := base
	for _, d := range docIDs {
		all |= d - prev - 1
		prev = d
	}
	width := uint8(bits.Len32(all))
	return bitpack.AppendGaps(dst, base, docIDs, width), width
}

// DecodeDocIDs implements Codec.
func (SIMDBP) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	size := bitpack.PackedSize(n, width)
	if width > maxWidth || uint(n-1) >= BlockLen || len(src) < size {
		return 0, checkBlock("simdbp", len(src), size, n, width, maxWidth)
	}
	bitpack.UnpackGapsN(dst, src, base, width, n)
	// 128 gaps of up to 24 bits add up to less than 2^32: the last DocID shows an overflow.
	if width < 25 {
		if last := dst[n-1]; last < base+1 || last == NoBase {
			return 0, fmt.Errorf("simdbp: DocIDs exceed 2^32: %w", ErrCorrupt)
		}
		return size, nil
	}
	if err := checkRising("simdbp", dst[:n], base); err != nil {
		return 0, err
	}
	return size, nil
}

// checkRising returns an error if DocIDs do not increase from base, because a sum of
// gaps exceeded 2^32.
func checkRising(name string, docIDs []uint32, base uint32) error {
	least := base + 1
	for i, d := range docIDs {
		if d < least || d == NoBase {
			return fmt.Errorf("%s: DocID %d exceeds 2^32: %w", name, i, ErrCorrupt)
		}
		least = d + 1
	}
	return nil
}

// AppendFreqs implements Codec.
func (SIMDBP) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	var all uint32
	for _, f := range freqs {
		all |= f - 1
	}
	width := uint8(bits.Len32(all))
	return bitpack.AppendLess(dst, freqs, width), width
}

// DecodeFreqs implements Codec.
func (SIMDBP) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	size := bitpack.PackedSize(n, width)
	if width > maxWidth || uint(n-1) >= BlockLen || len(src) < size {
		return checkBlock("simdbp", len(src), size, n, width, maxWidth)
	}
	bitpack.UnpackN(dst, src, width, 1, n)
	if width == maxWidth { // 2^32-1 represents a frequency of 2^32
		for i, f := range dst[:n] {
			if f == 0 {
				return fmt.Errorf("simdbp: frequency %d exceeds 2^32: %w", i, ErrCorrupt)
			}
		}
	}
	return nil
}

// FreqAt implements Codec.
func (SIMDBP) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	size := bitpack.PackedSize(n, width)
	if width > maxWidth || uint(n-1) >= BlockLen || len(src) < size {
		return 0, checkBlock("simdbp", len(src), size, n, width, maxWidth)
	}
	if uint(i) >= uint(n) {
		return 0, fmt.Errorf("simdbp: frequency %d of %d: %w", i, n, ErrCorrupt)
	}
	f := bitpack.At(src[:size], i, width) + 1
	if f == 0 {
		return 0, fmt.Errorf("simdbp: frequency %d exceeds 2^32: %w", i, ErrCorrupt)
	}
	return f, nil
}
