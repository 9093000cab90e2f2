package eliasfano

import (
	"encoding/binary"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// ones holds for each byte the numbers of its one bits, lowest first, a byte each.
var ones = func() (table [256]uint64) {
	for b := range table {
		shift := 0
		for bit := range uint64(8) {
			if b>>bit&1 == 1 {
				table[b] |= bit << shift
				shift += 8
			}
		}
	}
	return table
}()

// highs are the high parts of values: bit number of one bit i, less i. They are
// below 2*Len, so that a byte holds one, and all sums are modulo 256. There is
// room for as many as HighBytes has bits, and for the last store.
type highs [8*HighBytes + 8]uint8

// find finds the high parts in the unary part at the start of src, whose bits are
// those of src, each xor flip. It returns how many bits the first Len of
// them take, 0 if they do not end within HighBits.
func (h *highs) find(src []byte, flip uint64) (end int) {
	const all = 0x0101010101010101
	n := 0
	for w := range HighBytes / 8 {
		word := binary.LittleEndian.Uint64(src[8*w:]) ^ flip
		if w == HighBytes/8-1 {
			word &= 1<<(HighBits%64) - 1
		}
		for k := range 8 {
			x := uint8(word >> (8 * k))
			// Bit numbers of a byte are at most 8k mod 256 + 7: no carry.
			binary.LittleEndian.PutUint64(h[n:], ones[x]+uint64(uint8(64*w+8*k))*all)
			n += bits.OnesCount8(x)
		}
		if n >= Len {
			for i := range h[:Len] {
				h[i] -= uint8(i)
			}
			return Len + int(h[Len-1])
		}
	}
	return 0
}

// The functions below are the reference of the assembly.

func docIDsGo(dst *[Len]uint32, src []byte, base uint32, width uint8) int {
	var h highs
	end := h.find(src[Len/8*int(width):], 0)
	if end == 0 {
		return 0
	}
	bitpack.Unpack(dst, src, width, 0)
	falls, prev := int64(0), int64(-1)
	for i, low := range dst {
		d := base + 1 + uint32(i) + (uint32(h[i])<<(width&31) | low)
		dst[i] = d
		falls |= int64(d) - prev - 1 // below 0 if d is not above prev
		prev = int64(d)
	}
	if falls < 0 {
		return 0
	}
	return end
}

func freqsGo(dst *[Len]uint32, src []byte, width uint8) int {
	var h highs
	end := h.find(src[Len/8*int(width):], 0)
	if end == 0 {
		return 0
	}
	bitpack.Unpack(dst, src, width, 0)
	falls, prev := int64(0), int64(0)
	for i, low := range dst {
		sum := 1 + uint32(i) + (uint32(h[i])<<(width&31) | low)
		dst[i] = sum - uint32(prev)
		falls |= int64(sum) - prev - 1
		prev = int64(sum)
	}
	if falls < 0 {
		return 0
	}
	return end
}

func riceDocIDsGo(dst *[Len]uint32, src []byte, base uint32, width uint8) int {
	var h highs
	end := h.find(src[Len/8*int(width):], ^uint64(0))
	if end == 0 {
		return 0
	}
	bitpack.UnpackGaps(dst, src, base, width)
	falls, prev := int64(0), int64(-1)
	for i, sum := range dst {
		d := sum + uint32(h[i])<<(width&31)
		dst[i] = d
		falls |= int64(d) - prev - 1
		prev = int64(d)
	}
	if falls < 0 {
		return 0
	}
	return end
}

func riceFreqsGo(dst *[Len]uint32, src []byte, width uint8) int {
	var h highs
	end := h.find(src[Len/8*int(width):], ^uint64(0))
	if end == 0 {
		return 0
	}
	bitpack.Unpack(dst, src, width, 1)
	prev := uint32(0)
	for i, low := range dst {
		high := uint32(h[i])
		dst[i] = low + (high-prev)<<(width&31)
		prev = high
	}
	return end
}
