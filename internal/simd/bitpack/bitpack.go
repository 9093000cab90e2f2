package bitpack

import (
	"encoding/binary"
	"slices"
)

const (
	// Len is the number of values of a block.
	Len = 128
	// MaxWidth is the greatest width in bits.
	MaxWidth = 32
)

// PackedSize is the size in bytes of n values of width bits.
func PackedSize(n int, width uint8) int { return (n*int(width) + 7) / 8 }

// Append packs values below 2^width; unused bits after the last are 0.
func Append(dst []byte, values []uint32, width uint8) []byte {
	dst, out := grow(dst, len(values), width)
	word, filled := uint64(0), uint8(0)
	for _, v := range values {
		word |= uint64(v) << (filled & 63)
		if filled += width; filled >= 32 {
			out, word, filled = put(out, word), word>>32, filled-32
		}
	}
	putRest(out, word)
	return dst
}

// AppendGaps is Append of the gaps minus one between rising values, the first one after base.
func AppendGaps(dst []byte, base uint32, values []uint32, width uint8) []byte {
	dst, out := grow(dst, len(values), width)
	word, filled := uint64(0), uint8(0)
	for _, v := range values {
		word |= uint64(v-base-1) << (filled & 63)
		base = v
		if filled += width; filled >= 32 {
			out, word, filled = put(out, word), word>>32, filled-32
		}
	}
	putRest(out, word)
	return dst
}

// AppendLess is Append of values minus one.
func AppendLess(dst []byte, values []uint32, width uint8) []byte {
	dst, out := grow(dst, len(values), width)
	word, filled := uint64(0), uint8(0)
	for _, v := range values {
		word |= uint64(v-1) << (filled & 63)
		if filled += width; filled >= 32 {
			out, word, filled = put(out, word), word>>32, filled-32
		}
	}
	putRest(out, word)
	return dst
}

// grow returns dst with n packed values at its end, and the room for them.
func grow(dst []byte, n int, width uint8) (grown, room []byte) {
	start := len(dst)
	size := PackedSize(n, width)
	dst = slices.Grow(dst, size)[:start+size]
	return dst, dst[start:]
}

// put writes 32 bits: a loop of bytes takes about four times longer.
func put(out []byte, word uint64) []byte {
	binary.LittleEndian.PutUint32(out, uint32(word))
	return out[4:]
}

// putRest writes the last 0 to 4 bytes.
func putRest(out []byte, word uint64) {
	for i := range out {
		out[i] = byte(word)
		word >>= 8
	}
}

// At returns value i of the values of width bits, at most MaxWidth, that start src, which must
// contain all its bits.
func At(src []byte, i int, width uint8) uint32 {
	bit := i * int(width)
	at := bit / 8
	var word uint64
	if at+8 <= len(src) {
		word = binary.LittleEndian.Uint64(src[at:])
	} else {
		for j, b := range src[at:] {
			word |= uint64(b) << (8 * j)
		}
	}
	return uint32(word >> (bit % 8) & (1<<width - 1))
}

// Unpack writes the Len values in the first 16*width bytes of src, each plus add, modulo 2^32.
// src must have Slack more bytes of any content. width is at most MaxWidth.
func Unpack(dst *[Len]uint32, src []byte, width uint8, add uint32) {
	unpack(dst, src, width, add)
}

// UnpackGaps is Unpack for gaps minus one: dst[i] is base plus the sum of values 0 to i,
// each plus 1, modulo 2^32.
func UnpackGaps(dst *[Len]uint32, src []byte, base uint32, width uint8) {
	unpackGaps(dst, src, base, width)
}

// UnpackN is Unpack for n values, 1 to Len, in PackedSize(n, width) bytes. dst[n:] is
// undefined.
func UnpackN(dst *[Len]uint32, src []byte, width uint8, add uint32, n int) {
	unpackN(dst, src, width, add, n)
}

// UnpackGapsN is UnpackGaps for n values, as UnpackN.
func UnpackGapsN(dst *[Len]uint32, src []byte, base uint32, width uint8, n int) {
	unpackGapsN(dst, src, base, width, n)
}

// Above half a block, unpacking all of it is faster than stopping at n.
func asBlock(src []byte, width uint8, n int) bool {
	return n > Len/2 && n <= Len && width <= MaxWidth && len(src) >= Len/8*int(width)+Slack
}

// PrefixSum is UnpackGaps in place, for unpacked gaps.
func PrefixSum(dst *[Len]uint32, base uint32) { prefixSum(dst, base) }

// The assembly does not check: panic if src lacks a block and Slack bytes.
func check(src []byte, width uint8) []byte {
	if width > MaxWidth {
		panic("bitpack: width above MaxWidth")
	}
	return src[:Len/8*int(width)+Slack]
}

func checkN(src []byte, width uint8, n int) []byte {
	if width > MaxWidth || uint(n-1) >= Len {
		panic("bitpack: width above MaxWidth, or not 1 to Len values")
	}
	return src[:PackedSize(n, width)]
}
