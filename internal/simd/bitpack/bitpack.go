package bitpack

import "encoding/binary"

const (
	// Len is the number of values of a block.
	Len = 128
	// MaxWidth is the greatest width of a value in bits.
	MaxWidth = 32
)

// PackedSize is the size in bytes of n values of width bits.
func PackedSize(n int, width uint8) int { return (n*int(width) + 7) / 8 }

// Append appends values, each below 2^width, in PackedSize(len(values), width) bytes.
// Unused bits after the last value are 0.
func Append(dst []byte, values []uint32, width uint8) []byte {
	var word uint64
	var filled uint8 // bits of word, below 8 between values
	for _, v := range values {
		word |= uint64(v) << filled
		filled += width
		for ; filled >= 8; filled -= 8 {
			dst = append(dst, byte(word))
			word >>= 8
		}
	}
	if filled > 0 {
		dst = append(dst, byte(word))
	}
	return dst
}

// At returns value i of the values of width bits, at most MaxWidth, at the start of src.
// src must contain all bits of the value.
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

// Unpack writes the Len values of width bits in the first 16*width bytes of src to dst,
// each plus add, modulo 2^32. src must have Slack more bytes, with any content. width is at
// most MaxWidth.
func Unpack(dst *[Len]uint32, src []byte, width uint8, add uint32) {
	unpack(dst, src, width, add)
}

// UnpackGaps is Unpack for gaps minus one: dst[i] is base plus the sum of values 0 to i,
// each plus 1, modulo 2^32.
func UnpackGaps(dst *[Len]uint32, src []byte, base uint32, width uint8) {
	unpackGaps(dst, src, base, width)
}

// UnpackN is Unpack for the first n values, 1 to Len. src needs only PackedSize(n, width)
// bytes. dst[n:] is undefined after the call.
func UnpackN(dst *[Len]uint32, src []byte, width uint8, add uint32, n int) {
	unpackN(dst, src, width, add, n)
}

// UnpackGapsN is UnpackGaps for the first n values, 1 to Len. src needs only PackedSize(n,
// width) bytes. dst[n:] is undefined after the call.
func UnpackGapsN(dst *[Len]uint32, src []byte, base uint32, width uint8, n int) {
	unpackGapsN(dst, src, base, width, n)
}

// asBlock reports whether to unpack n values as a whole block, including the bytes after
// them. If n is more than half a block, this is faster than stopping at n.
func asBlock(src []byte, width uint8, n int) bool {
	return n > Len/2 && n <= Len && width <= MaxWidth && len(src) >= Len/8*int(width)+Slack
}

// PrefixSum converts gaps minus one to DocIDs in place: dst[i] becomes base plus the sum of
// the former dst[0] to dst[i], each plus 1, modulo 2^32.
func PrefixSum(dst *[Len]uint32, base uint32) { prefixSum(dst, base) }

// check returns the bytes of a block and Slack bytes after them. It panics if src is too
// short, because the assembly does not check.
func check(src []byte, width uint8) []byte {
	if width > MaxWidth {
		panic("bitpack: width above MaxWidth")
	}
	return src[:Len/8*int(width)+Slack]
}

// checkN returns the bytes of n values. It panics if src is too short.
func checkN(src []byte, width uint8, n int) []byte {
	if width > MaxWidth || uint(n-1) >= Len {
		panic("bitpack: width above MaxWidth, or not 1 to Len values")
	}
	return src[:PackedSize(n, width)]
}
