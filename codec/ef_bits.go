package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/eliasfano"
)

// Elias-Fano and Rice share: low bits of n values in slots, then, without padding, the high
// parts in unary, each ended by a one bit (Rice: zero bit). The width is floor(log2(mean)), so
// high parts add up to less than 2n and the unary part has fewer than 3n bits.
const _ = uint(eliasfano.HighBits-(3*BlockLen-1)) + uint(3*BlockLen-1-eliasfano.HighBits) // the kernels have the same bound

// lowWidth returns floor(log2(sum/n)), at least 0: the width for n values with the given
// sum, or an upper bound of it.
func lowWidth(sum uint64, n int) uint8 {
	if mean := sum / uint64(n); mean > 0 {
		return uint8(bits.Len64(mean) - 1)
	}
	return 0
}

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

// finish pads the last byte with zero bits.
func (w *bitWriter) finish() []byte {
	if w.filled > 0 {
		w.dst = append(w.dst, byte(w.word))
	}
	return w.dst
}

// unary is a block's unary part, read in 64-bit words that begin at a byte. Bits before it are
// masked off.
type unary struct {
	src  []byte
	bit  int    // start in src
	most int    // maximum length in bits
	flip uint64 // xor mask that turns end bits into 1
}

func unaryOf(src []byte, bit, n int, flip uint64) unary {
	return unary{src: src, bit: bit, most: min(3*n-1, 8*len(src)-bit), flip: flip}
}

// word returns 64 bits of src from byte at, zero beyond its end, xor flip.
func (u *unary) word(at int) uint64 {
	if at+8 <= len(u.src) {
		return binary.LittleEndian.Uint64(u.src[at:]) ^ u.flip
	}
	word := uint64(0)
	for j, b := range u.src[min(at, len(u.src)):] {
		word |= uint64(b) << (8 * j)
	}
	return word ^ u.flip
}

// find writes the high parts: value i is the number of zero bits before one bit i. It returns
// the bits read, or 0 if the values do not end.
func (u *unary) find(dst *[BlockLen]uint32, n int) int {
	at, from := u.bit/8, -(u.bit % 8)
	word := u.word(at) >> -from << -from
	for i := 0; ; word = u.word(at) {
		for ; word != 0; word &= word - 1 {
			bit := from + bits.TrailingZeros64(word)
			if bit >= u.most {
				return 0
			}
			dst[i] = uint32(bit - i)
			if i++; i == n {
				return bit + 1
			}
		}
		at, from = at+8, from+64
		if from >= u.most {
			return 0
		}
	}
}

// end returns the index of one bit i, or -1.
func (u *unary) end(i int) int {
	at, from := u.bit/8, -(u.bit % 8)
	word := u.word(at) >> -from << -from
	for {
		count := bits.OnesCount64(word)
		if i < count {
			if bit := from + selectOne(word, i); bit < u.most {
				return bit
			}
			return -1
		}
		i -= count
		at, from = at+8, from+64
		if from >= u.most {
			return -1
		}
		word = u.word(at)
	}
}

// zero returns the index of zero bit i, or -1.
func (u *unary) zero(i int) int {
	inverse := *u
	inverse.flip = ^u.flip
	return inverse.end(i)
}

// endFrom returns the index of the first one bit from bit on, or -1.
func (u *unary) endFrom(bit int) int {
	at, from := (u.bit+bit)/8, bit-(u.bit+bit)%8
	word := u.word(at) >> (bit - from) << (bit - from)
	for word == 0 {
		at, from = at+8, from+64
		if from >= u.most {
			return -1
		}
		word = u.word(at)
	}
	if bit = from + bits.TrailingZeros64(word); bit < u.most {
		return bit
	}
	return -1
}

// ends returns the indexes of one bits i-1 (-1 if i is 0) and i (-1 if there is none).
func (u *unary) ends(i int) (before, end int) {
	if i == 0 {
		return -1, u.endFrom(0)
	}
	before = u.end(i - 1)
	if before < 0 {
		return -1, -1
	}
	return before, u.endFrom(before + 1)
}

// selectOne returns the index of one bit i of word, which has more than i one bits.
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

// padded has room for a block and the bytes that kernels may read beyond it. Only separate
// functions use it, because a local one is cleared on entry.
type padded [BlockLen/8*eliasfano.MaxWidth + eliasfano.HighBytes + eliasfano.Slack]byte

// sizeOf returns the bytes of n slots and a unary part of unaryBits, which is 0 if that
// part has no end.
func sizeOf(name string, src []byte, n int, width uint8, unaryBits int) (int, error) {
	size := (n*int(width) + unaryBits + 7) / 8
	if unaryBits == 0 || size > len(src) {
		return 0, fmt.Errorf("%s: %d values of %d low bits do not end in %d bytes, or do not increase: %w", name, n, width, len(src), ErrCorrupt)
	}
	return size, nil
}

// checkSlots returns an error if src cannot hold n slots of width bits or width exceeds
// maxWidth.
func checkSlots(name string, src []byte, n int, width, maxWidth uint8) error {
	return checkBlock(name, len(src), bitpack.PackedSize(max(n, 0), width), n, width, maxWidth)
}
