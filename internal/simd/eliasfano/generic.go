package eliasfano

import (
	"encoding/binary"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// Ends are one bits.
type unary [(HighBits + 63) / 64]uint64

// load reads the unary part, xor flip; true if it has Len ends.
func (u *unary) load(src []byte, flip uint64) bool {
	ends := 0
	for w := range u {
		u[w] = binary.LittleEndian.Uint64(src[8*w:]) ^ flip
		if w == len(u)-1 {
			u[w] &= 1<<(HighBits%64) - 1
		}
		ends += bits.OnesCount64(u[w])
	}
	return ends >= Len
}

// The oracle of the assembly. The high part of value i is the bit index of end i, minus i.

func docIDsGo(dst *[Len]uint32, src []byte, base uint32, width uint8) int {
	var u unary
	if !u.load(src[Len/8*int(width):], 0) {
		return 0
	}
	bitpack.Unpack(dst, src, width, 0)
	falls, before := int64(0), int64(-1)
	i := 0
	for w, word := range u {
		for ; word != 0; word &= word - 1 {
			bit := 64*w + bits.TrailingZeros64(word)
			d := base + 1 + uint32(i) + (uint32(bit-i)<<(width&31) | dst[i])
			dst[i] = d
			falls |= int64(d) - before - 1 // negative if d is not above the previous one
			before = int64(d)
			if i++; i == Len {
				return endIf(falls >= 0, bit)
			}
		}
	}
	return 0
}

func endIf(ok bool, bit int) int {
	if ok {
		return bit + 1
	}
	return 0
}

func freqsGo(dst *[Len]uint32, src []byte, width uint8) int {
	var u unary
	if !u.load(src[Len/8*int(width):], 0) {
		return 0
	}
	bitpack.Unpack(dst, src, width, 0)
	falls, before := int64(0), int64(0)
	i := 0
	for w, word := range u {
		for ; word != 0; word &= word - 1 {
			bit := 64*w + bits.TrailingZeros64(word)
			sum := 1 + uint32(i) + (uint32(bit-i)<<(width&31) | dst[i])
			dst[i] = sum - uint32(before)
			falls |= int64(sum) - before - 1
			before = int64(sum)
			if i++; i == Len {
				return endIf(falls >= 0, bit)
			}
		}
	}
	return 0
}

func riceDocIDsGo(dst *[Len]uint32, src []byte, base uint32, width uint8) int {
	var u unary
	if !u.load(src[Len/8*int(width):], ^uint64(0)) {
		return 0
	}
	bitpack.UnpackGaps(dst, src, base, width)
	falls, before := int64(0), int64(-1)
	i := 0
	for w, word := range u {
		for ; word != 0; word &= word - 1 {
			bit := 64*w + bits.TrailingZeros64(word)
			d := dst[i] + uint32(bit-i)<<(width&31)
			dst[i] = d
			falls |= int64(d) - before - 1
			before = int64(d)
			if i++; i == Len {
				return endIf(falls >= 0, bit)
			}
		}
	}
	return 0
}

func riceFreqsGo(dst *[Len]uint32, src []byte, width uint8) int {
	var u unary
	if !u.load(src[Len/8*int(width):], ^uint64(0)) {
		return 0
	}
	bitpack.Unpack(dst, src, width, 1)
	i, before := 0, -1
	for w, word := range u {
		for ; word != 0; word &= word - 1 {
			bit := 64*w + bits.TrailingZeros64(word)
			dst[i] += uint32(bit-before-1) << (width & 31)
			before = bit
			if i++; i == Len {
				return bit + 1
			}
		}
	}
	return 0
}
