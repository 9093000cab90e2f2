package postings

import (
	"encoding/binary"
	"math/bits"
)

// skipVbytes returns the offset n vbytes after from, or -1 if src ends early.
func skipVbytes(src []byte, from, n int) int {
	for n >= 8 && from+8 <= len(src) {
		if n >= 32 && from+32 <= len(src) {
			s := src[from:]
			w := binary.LittleEndian.Uint64(s) | binary.LittleEndian.Uint64(s[8:]) | binary.LittleEndian.Uint64(s[16:]) |
				binary.LittleEndian.Uint64(s[24:32])
			if w&tops == 0 {
				n, from = n-32, from+32
				continue
			}
		}
		// A vbyte ends with a clear top bit. Eight bytes contain at most eight ends, so the
		// n-th is at their last byte or later.
		n -= bits.OnesCount64(^binary.LittleEndian.Uint64(src[from:]) & tops)
		from += 8
	}
	for ; n > 0; from++ {
		if from >= len(src) {
			return -1
		}
		if src[from] < 0x80 {
			n--
		}
	}
	return from
}

// VbytesLen returns the size of src's first n vbytes; false if there are fewer.
func VbytesLen(src []byte, n uint64) (size int, ok bool) {
	if n > uint64(len(src)) {
		return 0, false
	}
	size = skipVbytes(src, 0, int(n))
	return size, size >= 0
}

// readVbyte returns the vbyte at from and the offset after it, or -1 if src ends early or the
// value exceeds 32 bits.
func readVbyte(src []byte, from int) (value uint32, next int) {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		if uint(from) >= uint(len(src)) {
			return 0, -1
		}
		b := src[from]
		from++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				return 0, -1
			}
			return uint32(v), from
		}
	}
	return 0, -1
}
