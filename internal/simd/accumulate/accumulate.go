package accumulate

import "encoding/binary"

// Line is the number of accumulators that Drain processes together, and of a word's bits.
const Line = 64

// Accumulator is the type of an accumulator.
type Accumulator interface{ uint8 | uint16 | uint32 }

// Scatter adds v to acc[d] for each d of docIDs, up to the first not below len(acc), and
// returns the number of additions.
func Scatter[T Accumulator](acc []T, docIDs []uint32, v T) int {
	switch acc := any(acc).(type) {
	case []uint8:
		return scatter8(acc, docIDs, uint8(v))
	case []uint16:
		return scatter16(acc, docIDs, uint16(v))
	case []uint32:
		return scatter32(acc, docIDs, uint32(v))
	}
	return 0
}

// ScatterBytes is Scatter for complete DocIDs of 4 bytes, little endian, and too few for
// assembly to pay off.
func ScatterBytes[T Accumulator](acc []T, docIDs []byte, v T) int {
	n := len(docIDs) / 4
	for i := range n {
		d := binary.LittleEndian.Uint32(docIDs[4*i:])
		if uint64(d) >= uint64(len(acc)) {
			return i
		}
		acc[d] += v
	}
	return n
}

// Bitmap adds v to acc[64*i+j] for each set bit j of word i (little endian, 8 bytes), up to the
// end of acc or words, and returns the number of words processed.
func Bitmap[T Accumulator](acc []T, words []byte, v T) int {
	n := min(len(acc)/Line, len(words)/8)
	acc, words = acc[:n*Line], words[:n*8]
	if n == 0 {
		return 0
	}
	switch acc := any(acc).(type) {
	case []uint8:
		bitmap8(acc, words, uint8(v))
	case []uint16:
		bitmap16(acc, words, uint16(v))
	case []uint32:
		bitmap32(acc, words, uint32(v))
	}
	return n
}

// Drain zeroes acc, line by line, up to the first line with an accumulator of at least least.
// It returns that (unchanged) line's first index and a mask of the accumulators that reach
// least, or len(acc) and 0.
func Drain[T Accumulator](acc []T, least T) (at int, high uint64) {
	switch acc := any(acc).(type) {
	case []uint8:
		return drain8(acc, uint8(least))
	case []uint16:
		return drain16(acc, uint16(least))
	case []uint32:
		return drain32(acc, uint32(least))
	}
	return len(acc), 0
}
