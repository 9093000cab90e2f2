package column

import (
	"encoding/binary"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

const (
	// Len is the number of values of a block.
	Len = bitpack.Len
	// MaxWidth is the greatest width in bits.
	MaxWidth = 64
	// Slack is the number of bytes after the values that must be readable.
	Slack = bitpack.Slack
)

// PackedSize is the size in bytes of n values of width bits.
func PackedSize(n int, width uint8) int { return bitpack.PackedSize(n, width) }

// Append packs values below 2^width; unused bits after the last are 0.
func Append(dst []byte, values []uint64, width uint8) []byte {
	if width == 0 {
		return dst
	}
	var word uint64
	var filled uint8 // bits of word, below 64 between values
	for _, v := range values {
		word |= v << filled
		filled += width
		if filled >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			filled -= 64
			word = v >> (width - filled)
		}
	}
	for ; filled > 0; filled -= min(8, filled) {
		dst = append(dst, byte(word))
		word >>= 8
	}
	return dst
}

// At returns value i of the values of width bits at the start of src, which must have all their
// bytes and Slack.
func At(src []byte, i int, width uint8) uint64 {
	bit := i * int(width)
	at, shift := bit/8, bit%8
	v := binary.LittleEndian.Uint64(src[at:]) >> shift
	if shift+int(width) > 64 {
		v |= uint64(src[at+8]) << (64 - shift)
	}
	return v & (1<<width - 1)
}

// Unpack writes the Len values in the first 16*width bytes of src, each plus add, modulo 2^64.
// src must have Slack more bytes of any content. width is at most MaxWidth.
func Unpack(dst *[Len]int64, src []byte, width uint8, add int64) {
	unpack(dst, check(src, width), width, add)
}

// Range sets bit i%64 of bits[i/64] if value i is in [lo, hi], and clears it if not. src is as
// for Unpack.
func Range(bits *[Len / 64]uint64, src []byte, width uint8, lo, hi uint64) {
	src = check(src, width)
	if width < MaxWidth {
		hi = min(hi, 1<<width-1)
	}
	if lo > hi {
		*bits = [Len / 64]uint64{}
		return
	}
	inRange(bits, src, width, lo, hi)
}

// Selected has room for the values of a block, and for what kernels write after the last.
type Selected [Len + 16]uint32

// Select writes the values whose bits are set to the beginning of dst, and returns their number.
// The rest of dst is undefined.
func Select(dst *Selected, values *[Len]uint32, bits *[Len / 64]uint64) int {
	return selectValues(dst, values, bits)
}

// Directory describes Len blocks.
type Directory struct {
	Mins    [Len]int64
	Spans   [Len]int64 // maximum - minimum, unsigned
	Offsets [Len]uint32
}

// Positions has room for the positions of the bits of Len blocks, and for what kernels write after the last.
type Positions [Len*Len + 64]uint16

// List writes the positions of the bits that are set in at most Len*Len/64 words, rising, and returns their number.
func (p *Positions) List(set []uint64) int {
	if len(set) == 0 {
		return 0
	}
	if len(set) > Len*Len/64 {
		panic("column: bits of more than Len blocks")
	}
	return list(p, set)
}

// Tally adds 1 to counts[v] for the value v at each position, up to the first value not below len(counts), and returns the number of
// additions. Value i of block j has position Len*j + i. Block j is at src[d.Offsets[j]:], with the bits that its span
// needs, at most 57. All values must have their bytes and Slack in src.
func Tally(counts []uint32, d *Directory, src []byte, positions []uint16) int {
	if len(counts) == 0 || len(positions) == 0 {
		return 0
	}
	return tally(counts, d, src, positions)
}

// TallyEven is Tally of blocks that all have values of width bits, at most 57, without gaps: the value at position p is at bit
// p*width, plus mins[p/Len]. All values must have their bytes and Slack in src.
func TallyEven(counts []uint32, mins *[Len]int64, src []byte, width uint8, positions []uint16) int {
	if len(counts) == 0 || len(positions) == 0 {
		return 0
	}
	return tallyEven(counts, mins, src, width, positions)
}

// Mark sets the bits of positions. It panics if one is not below 64*len(set).
func Mark(set []uint64, positions []uint32) { mark(set, positions) }

// Ones returns the number of bits that are set.
func Ones(set []uint64) int { return ones(set) }

// Deposit moves bit i of bits to the position of the i-th set bit of set; other bits are 0.
func Deposit(bits, set uint64) uint64 {
	if set == ^uint64(0) || bits == 0 {
		return bits
	}
	return deposit(bits, set)
}

// Extract moves the bit of word at the i-th set bit of set to position i; other bits are 0.
func Extract(word, set uint64) uint64 {
	if set == ^uint64(0) || word&set == 0 {
		return word & set
	}
	return extract(word, set)
}

// The assembly does not check: panic if src lacks a block and Slack bytes.
func check(src []byte, width uint8) []byte {
	if width > MaxWidth {
		panic("column: width above MaxWidth")
	}
	return src[:Len/8*int(width)+Slack]
}
