package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/eliasfano"
)

// This file has what Elias-Fano and Rice codes share: n values of which the low
// bits lie in slots of one width and the rest follows in unary code, each value
// ended by a one bit (Rice: a zero bit). The unary part follows the slots without
// padding. Its size is bounded, because the width is floor(log2(mean)), so that
// the sum of the rest is below 2n: with n ends, fewer than 3n bits.
const _ = uint(eliasfano.HighBits - (3*BlockLen - 1)) // the kernels have the same bound

// lowWidth returns floor(log2(sum/n)), at least 0: the width for n values whose
// sum, or whose upper bound, is sum.
func lowWidth(sum uint64, n int) uint8 {
	if mean := sum / uint64(n); mean > 0 {
		return uint8(bits.Len64(mean) - 1)
	}
	return 0
}

// bitWriter appends bits, least significant first.
type bitWriter struct {
	dst    []byte
	word   uint64
	filled uint // bits of word, below 8 between calls
}

// put appends the low width bits of v, at most 56; the others must be 0.
func (w *bitWriter) put(v uint64, width uint) {
	w.word |= v << w.filled
	w.filled += width
	for ; w.filled >= 8; w.filled -= 8 {
		w.dst = append(w.dst, byte(w.word))
		w.word >>= 8
	}
}

// zeros appends n zero bits and a one bit.
func (w *bitWriter) zeros(n uint64) {
	for ; n >= 32; n -= 32 {
		w.put(0, 32)
	}
	w.put(1<<n, uint(n)+1)
}

// ones appends n one bits and a zero bit.
func (w *bitWriter) ones(n uint64) {
	for ; n >= 32; n -= 32 {
		w.put(1<<32-1, 32)
	}
	w.put(1<<n-1, uint(n)+1)
}

// finish pads the last byte with zero bits and returns the bytes.
func (w *bitWriter) finish() []byte {
	if w.filled > 0 {
		w.dst = append(w.dst, byte(w.word))
	}
	return w.dst
}

// unary is the unary part of a block, with one bits as ends; all behind it, or
// behind the longest that there can be, is 0.
type unary [(3*BlockLen + 63) / 64]uint64

// load reads the unary part of n values that begins at a bit of src, each bit xor
// flip, and no byte outside of src.
func (u *unary) load(src []byte, bit, n int, flip uint64) {
	left := min(3*n-1, 8*len(src)-bit) // bits to read
	at, shift := bit/8, uint(bit%8)
	for w := range u {
		var word uint64
		switch {
		case left <= 0:
		case at+9 <= len(src):
			word = binary.LittleEndian.Uint64(src[at:])>>shift | uint64(src[at+8])<<(64-shift)
		default:
			for j, b := range src[at:] {
				word |= uint64(b) << (8 * j) >> shift
				if j == 8 {
					word |= uint64(b) << (64 - shift)
				}
			}
		}
		word ^= flip
		if left < 64 {
			word &= 1<<max(left, 0) - 1
		}
		u[w] = word
		left -= 64
		at += 8
	}
}

// find writes the high parts of n values to dst: the number of zero bits before
// one bit i. It returns the number of bits that they take, 0 if they do not end.
func (u *unary) find(dst *[BlockLen]uint32, n int) int {
	i := 0
	for w, word := range u {
		for ; word != 0; word &= word - 1 {
			bit := 64*w + bits.TrailingZeros64(word)
			dst[i] = uint32(bit - i)
			if i++; i == n {
				return bit + 1
			}
		}
	}
	return 0
}

// at returns the bit number of one bit i, -1 if there is none.
func (u *unary) at(i int) int {
	for w, word := range u {
		count := bits.OnesCount64(word)
		if i < count {
			return 64*w + selectOne(word, i)
		}
		i -= count
	}
	return -1
}

// zero returns the bit number of zero bit i, -1 if there is none.
func (u *unary) zero(i int) int {
	for w, word := range u {
		count := bits.OnesCount64(^word)
		if i < count {
			return 64*w + selectOne(^word, i)
		}
		i -= count
	}
	return -1
}

// selectOne returns the bit number of one bit i of word, which has more.
func selectOne(word uint64, i int) int {
	from := 0
	for width := 32; width >= 8; width /= 2 {
		if count := bits.OnesCount64(word & (1<<width - 1)); i >= count {
			i -= count
			word >>= width
			from += width
		}
	}
	for ; i > 0; i-- {
		word &= word - 1
	}
	return from + bits.TrailingZeros64(word)
}

// padded is room for a whole block, so that the kernels may read behind it. Its
// users are functions of their own, because a local one costs its clearing.
type padded [BlockLen/8*eliasfano.MaxWidth + eliasfano.HighBytes + eliasfano.Slack]byte

// sizeOf returns the bytes that n values take of src: slots of width bits and a
// unary part of the given length, 0 if it had no end.
func sizeOf(name string, src []byte, n int, width uint8, unaryBits int) (int, error) {
	size := (n*int(width) + unaryBits + 7) / 8
	if unaryBits == 0 || size > len(src) {
		return 0, fmt.Errorf("%s: %d values of %d low bits and more do not end in %d bytes, or do not rise: %w", name, n, width, len(src), ErrCorrupt)
	}
	return size, nil
}

// checkSlots reports what makes n values of width low bits unreadable, or nil.
func checkSlots(name string, src []byte, n int, width, maxWidth uint8) error {
	return checkBlock(name, len(src), bitpack.PackedSize(max(n, 0), width), n, width, maxWidth)
}
