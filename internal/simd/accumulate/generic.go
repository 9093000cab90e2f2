package accumulate

import (
	"encoding/binary"
	"math/bits"
)

// The oracle of the assembly and the fallback.

func scatterGeneric[T Accumulator](acc []T, docIDs []uint32, v T) int {
	for i, d := range docIDs {
		if uint64(d) >= uint64(len(acc)) {
			return i
		}
		acc[d] += v
	}
	return len(docIDs)
}

// len(acc) is 8*len(words).
func bitmapGeneric[T Accumulator](acc []T, words []byte, v T) {
	for i := 0; i+8 <= len(words); i += 8 {
		line := (*[Line]T)(acc[i*8:])
		for w := binary.LittleEndian.Uint64(words[i:]); w != 0; w &= w - 1 {
			line[bits.TrailingZeros64(w)] += v
		}
	}
}

func drainGeneric[T Accumulator](acc []T, least T) (at int, high uint64) {
	for at+Line <= len(acc) {
		line := (*[Line]T)(acc[at:])
		var m0, m1, m2, m3 T // independent chains: half the time
		for j := 0; j < Line; j += 4 {
			m0 = max(m0, line[j])
			m1 = max(m1, line[j+1])
			m2 = max(m2, line[j+2])
			m3 = max(m3, line[j+3])
		}
		greatest := max(m0, m1, m2, m3)
		if greatest >= least {
			return at, reaching(line, least)
		}
		if greatest > 0 {
			*line = [Line]T{}
		}
		at += Line
	}
	return len(acc), 0
}

// reaching returns the mask of the accumulators that reach least, without branches.
func reaching[T Accumulator](line *[Line]T, least T) (high uint64) {
	for j := 0; j < Line; j += 4 {
		four := uint64(0)
		for i, a := range line[j : j+4] {
			bit := uint64(0)
			if a >= least {
				bit = 1
			}
			four |= bit << i
		}
		high |= four << j
	}
	return high
}

// A byte becomes 8 bytes, one for each bit, least significant first.
var spread = func() (t [256]uint64) {
	for b := range t {
		for j := range 8 {
			t[b] |= uint64(b) >> j & 1 << (8 * j)
		}
	}
	return t
}()

// A dense word is added to eight accumulators at a time, without the highest bits: a wrapping
// sum would carry into the next accumulator.
func bitmap8Generic(acc []uint8, words []byte, v uint8) {
	const high = 0x8080808080808080
	for i := 0; i+8 <= len(words); i += 8 {
		w := binary.LittleEndian.Uint64(words[i:])
		line := (*[Line]uint8)(acc[i*8:])
		if bits.OnesCount64(w) < 20 { // break-even, 18 ns
			for ; w != 0; w &= w - 1 {
				line[bits.TrailingZeros64(w)] += v
			}
			continue
		}
		for j := range 8 {
			x := spread[uint8(w>>(8*j))] * uint64(v)
			a := binary.LittleEndian.Uint64(line[8*j:])
			binary.LittleEndian.PutUint64(line[8*j:], (a&^high+x&^high)^(a^x)&high)
		}
	}
}

func drain8Generic(acc []uint8, least uint8) (at int, highBits uint64) {
	if least == 0 || least > 0x80 {
		return drainGeneric(acc, least)
	}
	// Adding lift to a byte below 0x80 sets its highest bit iff it is at least least.
	const high = 0x8080808080808080
	lift := uint64(0x80-least) * 0x0101010101010101
	for at+Line <= len(acc) {
		line := (*[Line]uint8)(acc[at:])
		var set, reached uint64
		for j := 0; j < Line; j += 8 {
			x := binary.LittleEndian.Uint64(line[j:])
			set |= x
			reached |= (x&^high + lift) | x
		}
		if reached&high != 0 {
			return at, reaching(line, least)
		}
		if set != 0 {
			*line = [Line]uint8{}
		}
		at += Line
	}
	return len(acc), 0
}
