package qmx

import (
	"encoding/binary"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// Decode writes the first n values, 1 to Len, of the encoding at src, which begins with
// numSelectors selectors, each plus add, modulo 2^32. It returns the size, or -1, with dst
// undefined, if the bytes do not encode n values. dst[n:] is undefined. wide reports a value,
// or a tail's width, of more than 24 bits.
func Decode(dst *[Len]uint32, src []byte, numSelectors int, add uint32, n int) (size int, wide bool) {
	if uint(n-1) >= Len || uint(numSelectors) > uint(len(src)) {
		return -1, false
	}
	return decode(dst, src, numSelectors, add, n)
}

// DecodeGaps is Decode for gaps minus one: dst[i] is base plus the sum of values 0 to i, each
// plus 1, modulo 2^32. Unless wide, a block's gaps add up to less than 2^32.
func DecodeGaps(dst *[Len]uint32, src []byte, numSelectors int, base uint32, n int) (size int, wide bool) {
	if uint(n-1) >= Len || uint(numSelectors) > uint(len(src)) {
		return -1, false
	}
	return decodeGaps(dst, src, numSelectors, base, n)
}

// The oracle of the assembly.
func decodeGeneric(dst *[Len]uint32, src []byte, numSelectors int, add uint32, n int) (size int, wide bool) {
	selectors, at, done, width := src[:numSelectors], numSelectors, 0, uint8(0)
	for _, b := range selectors {
		selector, run := ParseSelector(b)
		if selector >= len(Selectors) {
			return -1, false
		}
		s := &Selectors[selector]
		bytes := run * int(s.Words) * WordSize
		if run*int(s.Count) > n-done || bytes > len(src)-at {
			return -1, false
		}
		values := dst[done : done+run*int(s.Count)]
		s.decode(values, src[at:at+bytes], add)
		if s.Bits > widestSafe {
			for _, v := range values {
				width = max(width, uint8(bits.Len32(v-add)))
			}
		}
		done += run * int(s.Count)
		at += bytes
	}
	if done == n {
		return at, width > widestSafe
	}
	tailWidth, bytes, ok := tail(src[at:], n-done)
	if !ok {
		return -1, false
	}
	at++
	for i := done; i < n; i++ {
		dst[i] = bitpack.At(src[at:at+bytes], i-done, tailWidth) + add
	}
	return at + bytes, max(width, tailWidth) > widestSafe
}

// A tail of n values: width, and the bytes after it. ok is false if it is invalid or not
// completely in src.
func tail(src []byte, n int) (width uint8, bytes int, ok bool) {
	if len(src) == 0 {
		return 0, 0, false
	}
	width = src[0]
	size := n * int(width)
	bytes = (size + 7) / 8
	return width, bytes, width <= bitpack.MaxWidth && size <= MaxTailBits && bytes <= len(src)-1
}

func (s *Selector) decode(dst []uint32, words []byte, add uint32) {
	switch s.Words {
	case 0:
		for i := range dst {
			dst[i] = add
		}
	case 1:
		mask, shift := uint32(1<<s.Bits-1), s.Bits%32 // with 32 bits, a lane has one value
		for ; len(words) >= WordSize; words = words[WordSize:] {
			a, b := binary.LittleEndian.Uint32(words), binary.LittleEndian.Uint32(words[4:])
			c, d := binary.LittleEndian.Uint32(words[8:]), binary.LittleEndian.Uint32(words[12:])
			for range s.Count / 4 {
				out := (*[4]uint32)(dst)
				out[0], out[1], out[2], out[3] = a&mask+add, b&mask+add, c&mask+add, d&mask+add
				a, b, c, d = a>>shift, b>>shift, c>>shift, d>>shift
				dst = dst[4:]
			}
		}
	default:
		mask, shift := uint32(1<<s.Bits-1), s.Bits%32
		for ; len(words) >= 2*WordSize; words = words[2*WordSize:] {
			a, b, c, d := lanePair(words, 0), lanePair(words, 1), lanePair(words, 2), lanePair(words, 3)
			for range s.Count / 4 {
				out := (*[4]uint32)(dst)
				out[0], out[1], out[2], out[3] = uint32(a)&mask+add, uint32(b)&mask+add, uint32(c)&mask+add, uint32(d)&mask+add
				a, b, c, d = a>>shift, b>>shift, c>>shift, d>>shift
				dst = dst[4:]
			}
		}
	}
}

// The first word is the lower half.
func lanePair(words []byte, lane int) uint64 {
	return uint64(binary.LittleEndian.Uint32(words[4*lane:])) | uint64(binary.LittleEndian.Uint32(words[WordSize+4*lane:]))<<32
}

func decodeGapsGeneric(dst *[Len]uint32, src []byte, numSelectors int, base uint32, n int) (size int, wide bool) {
	if size, wide = decodeGeneric(dst, src, numSelectors, 1, n); size < 0 {
		return size, false
	}
	for i := range dst[:n] {
		base += dst[i]
		dst[i] = base
	}
	return size, wide
}

// At widestSafe bits, Len gaps add up to less than 2^32.
const widestSafe = 24

// At returns value i of n, skipping whole runs of words. ok is false if the bytes up to it are
// not an encoding.
func At(src []byte, numSelectors, i, n int) (v uint32, ok bool) {
	if uint(n-1) >= Len || uint(i) >= uint(n) || uint(numSelectors) > uint(len(src)) {
		return 0, false
	}
	at, done := numSelectors, 0
	for _, b := range src[:numSelectors] {
		selector, run := ParseSelector(b)
		if selector >= len(Selectors) {
			return 0, false
		}
		s := &Selectors[selector]
		count, bytes := run*int(s.Count), run*int(s.Words)*WordSize
		if count > n-done || bytes > len(src)-at {
			return 0, false
		}
		if i < done+count {
			return s.at(src[at:at+bytes], i-done), true
		}
		done += count
		at += bytes
	}
	width, bytes, ok := tail(src[at:], n-done)
	if !ok {
		return 0, false
	}
	return bitpack.At(src[at+1:at+1+bytes], i-done, width), true
}

func (s *Selector) at(words []byte, i int) uint32 {
	if s.Words == 0 {
		return 0
	}
	words = words[i/int(s.Count)*int(s.Words)*WordSize:]
	i %= int(s.Count)
	lane, bit := i%4, i/4*int(s.Bits)
	pair := uint64(binary.LittleEndian.Uint32(words[4*lane:]))
	if s.Words == 2 {
		pair |= uint64(binary.LittleEndian.Uint32(words[WordSize+4*lane:])) << 32
	}
	return uint32(pair >> bit & (1<<s.Bits - 1))
}
