package codec

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/eliasfano"
)

// Rice codes gaps minus one, and frequencies minus one. Each value x is split into the b bits r
// = x mod 2^b and, in a separate unary part, the quotient q = x / 2^b as q one bits and a zero
// bit. b = floor(log2(mean)) is the block's width byte.
//
//	bit 0    b      2b         n*b
//	 +-------+------+---    ---+--------------------------+---------+
//	 | r[0]  | r[1] |   ...    | 1…10 1…10 0 …  n zeros    | 0 to 7  |
//	 +-------+------+---    ---+--------------------------+---------+
//	  binary part               unary part                 zero bits
//
// A DocID is base + 1 + i, plus the sum of r up to i, plus 2^b times the number of one bits
// before zero bit i: two prefix sums.
//
// Worked bytes: DocIDs 5, 7, 16 after NoBase are the gaps minus one 5, 1, 8; mean 4, b = 2: r =
// 01 01 00, q = 1, 0, 2 as 10 0 110: 0x45, 0x06 (tested).
//
// Ding et al., WWW 2009, §6.1 (see PForDeltaRec), with prefix sums localized to blocks; Zhang,
// Long and Suel, WWW 2008. We differ: b is chosen for each block, and the sum before a block is
// its base, a DocID of the directory.
type Rice struct{}

var _ Codec = Rice{}

// The largest b at which no kernel value can exceed 2^32.
const maxRiceKernelWidth = eliasfano.MaxWidth - 1

// Name returns "rice".
func (Rice) Name() string { return "rice" }

// AppendDocIDs implements Codec.
func (Rice) AppendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	var gaps [BlockLen]uint32
	gapsLessOne(gaps[:], base, docIDs)
	return appendRice(dst, gaps[:len(docIDs)])
}

// AppendFreqs implements Codec.
func (Rice) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	var less [BlockLen]uint32
	lessOne(less[:], freqs)
	return appendRice(dst, less[:len(freqs)])
}

func appendRice(dst []byte, values []uint32) ([]byte, uint8) {
	sum := uint64(0)
	for _, v := range values {
		sum += uint64(v)
	}
	width := lowWidth(sum, len(values))
	w := bitWriter{dst: dst}
	for _, v := range values {
		w.put(uint64(v)&(1<<width-1), uint(width))
	}
	for _, v := range values {
		w.ones(uint64(v >> width))
	}
	return w.finish(), width
}

// DecodeDocIDs implements Codec.
func (Rice) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	if n == BlockLen && width <= eliasfano.MaxWidth && len(src) >= eliasfano.Space(width) {
		size, err := sizeOf("rice", src, n, width, eliasfano.RiceDocIDs(dst, src, base, width))
		if err == nil && dst[BlockLen-1] == NoBase {
			return 0, fmt.Errorf("rice: DocIDs exceed 2^32: %w", ErrCorrupt)
		}
		return size, err
	}
	size, err := findRice(dst, src, n, width)
	if err != nil {
		return 0, err
	}
	d := uint64(base+1) - 1 // before the first: -1 + 1 below, modulo 2^64
	before := uint32(0)
	for i, high := range dst[:n] {
		d += 1 + (uint64(high-before)<<width | uint64(bitpack.At(src, i, width)))
		if d >= uint64(NoBase) {
			return 0, fmt.Errorf("rice: DocID %d exceeds 2^32: %w", i, ErrCorrupt)
		}
		dst[i] = uint32(d)
		before = high
	}
	return size, nil
}

// findRice writes the prefix sums of the unary parts of n values to dst and returns the
// block's size.
func findRice(dst *[BlockLen]uint32, src []byte, n int, width uint8) (size int, err error) {
	if err := checkSlots("rice", src, n, width, 31); err != nil {
		return 0, err
	}
	u := unaryOf(src, n*int(width), n, ^uint64(0))
	return sizeOf("rice", src, n, width, u.find(dst, n))
}

// DecodeFreqs implements Codec.
func (Rice) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	if n == BlockLen && width <= maxRiceKernelWidth && len(src) >= eliasfano.Space(width) {
		_, err := sizeOf("rice", src, n, width, eliasfano.RiceFreqs(dst, src, width))
		return err
	}
	if _, err := findRice(dst, src, n, width); err != nil {
		return err
	}
	before := uint32(0)
	for i, high := range dst[:n] {
		f := uint64(high-before)<<width | uint64(bitpack.At(src, i, width))
		if f >= 1<<32-1 {
			return fmt.Errorf("rice: frequency %d exceeds 2^32: %w", i, ErrCorrupt)
		}
		dst[i] = uint32(f) + 1
		before = high
	}
	return nil
}

// FreqAt implements Codec.
func (Rice) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	if err := checkSlots("rice", src, n, width, 31); err != nil {
		return 0, err
	}
	if uint(i) >= uint(n) {
		return 0, fmt.Errorf("rice: frequency %d of %d: %w", i, n, ErrCorrupt)
	}
	u := unaryOf(src, n*int(width), n, ^uint64(0))
	before, end := u.ends(i)
	if end < 0 {
		_, err := sizeOf("rice", src, n, width, 0)
		return 0, err
	}
	f := uint64(end-before-1)<<width | uint64(bitpack.At(src, i, width))
	if f >= 1<<32-1 {
		return 0, fmt.Errorf("rice: frequency %d exceeds 2^32: %w", i, ErrCorrupt)
	}
	return uint32(f) + 1, nil
}
