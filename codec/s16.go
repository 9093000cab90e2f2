package codec

import (
	"encoding/binary"
	"math/bits"
)

// Simple-16: a 32-bit word, little endian, holds small values in its upper 28 bits, the first
// lowest, in one of 16 cases, which its lower 4 bits name.
//
// Zhang, Long and Suel, WWW 2008, §3 (S16; see PForDelta), after Anh and Moffat, "Inverted
// index compression using word-aligned binary codes", Information Retrieval 8(1), 2005
// (Simple-9). The papers leave the order of bits open.

const s16Bits = 28

// Each case's widths of values, together all 28 bits; the case with the most values is first.
var s16Widths = [16][]uint8{
	widthRuns(28, 1),
	widthRuns(7, 2, 14, 1),
	widthRuns(7, 1, 7, 2, 7, 1),
	widthRuns(14, 1, 7, 2),
	widthRuns(14, 2),
	widthRuns(1, 4, 8, 3),
	widthRuns(1, 3, 4, 4, 3, 3),
	widthRuns(7, 4),
	widthRuns(4, 5, 2, 4),
	widthRuns(2, 4, 4, 5),
	widthRuns(3, 6, 2, 5),
	widthRuns(2, 5, 3, 6),
	widthRuns(4, 7),
	widthRuns(1, 10, 2, 9),
	widthRuns(2, 14),
	widthRuns(1, 28),
}

// widthRuns expands pairs of a count and a width.
func widthRuns(pairs ...uint8) (widths []uint8) {
	for i := 0; i < len(pairs); i += 2 {
		for range pairs[i] {
			widths = append(widths, pairs[i+1])
		}
	}
	return widths
}

type s16Case struct {
	n     int
	shift [s16Bits]uint8
	mask  [s16Bits]uint32
}

var s16Cases = func() (cases [16]s16Case) {
	for i, widths := range s16Widths {
		c := &cases[i]
		c.n = len(widths)
		at := uint8(4)
		for j, w := range widths {
			c.shift[j], c.mask[j] = at, 1<<w-1
			at += w
		}
	}
	return cases
}()

// appendS16 appends values below 2^28. Each word has the first case that fits; unused
// room is 0.
func appendS16(dst []byte, values []uint32) []byte {
	for len(values) > 0 {
		for i := range s16Cases {
			c := &s16Cases[i]
			n := min(c.n, len(values))
			word, fits := uint32(i), true
			for j, v := range values[:n] {
				fits = fits && v <= c.mask[j]
				word |= v << c.shift[j]
			}
			if fits {
				dst = binary.LittleEndian.AppendUint32(dst, word)
				values = values[n:]
				break
			}
		}
	}
	return dst
}

// decodeS16 decodes len(dst) values and returns their bytes. ok is false if src has too
// few values.
func decodeS16(dst []uint32, src []byte) (size int, ok bool) {
	for len(dst) > 0 {
		if len(src)-size < 4 {
			return 0, false
		}
		word := binary.LittleEndian.Uint32(src[size:])
		c := &s16Cases[word&15]
		n := min(c.n, len(dst))
		for j := range dst[:n] {
			dst[j] = word >> (c.shift[j] & 31) & c.mask[j]
		}
		dst = dst[n:]
		size += 4
	}
	return size, true
}

// sizeS16 returns the bytes of n values. ok is false if src has too few values.
func sizeS16(src []byte, n int) (size int, ok bool) {
	for n > 0 {
		if len(src)-size < 4 {
			return 0, false
		}
		n -= s16Cases[src[size]&15].n
		size += 4
	}
	return size, true
}

// lengthS16 returns the bytes that appendS16 writes.
func lengthS16(values []uint32) (size int) {
	for len(values) > 0 {
		for i := range s16Widths {
			n := 0
			for n < min(len(s16Widths[i]), len(values)) && bits.Len32(values[n]) <= int(s16Widths[i][n]) {
				n++
			}
			if n == min(len(s16Widths[i]), len(values)) {
				values = values[n:]
				break
			}
		}
		size += 4
	}
	return size
}
