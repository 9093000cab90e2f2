//go:build amd64 && !noasm

package qmx

import "github.com/griffin-search/griffin/internal/simd"

func decode(dst *[Len]uint32, src []byte, numSelectors int, add uint32, n int) (size int, wide bool) {
	if len(src) > 0 {
		switch simd.Current() {
		case simd.AVX512:
			return split(decodeAVX512(dst, &src[0], len(src), numSelectors, add, n))
		case simd.AVX2:
			if r := decodeAVX2(dst, &src[0], len(src), numSelectors, add, n); r != tooShort {
				return split(r)
			}
		default:
		}
	}
	return decodeGeneric(dst, src, numSelectors, add, n)
}

func decodeGaps(dst *[Len]uint32, src []byte, numSelectors int, base uint32, n int) (size int, wide bool) {
	if len(src) > 0 {
		switch simd.Current() {
		case simd.AVX512:
			return split(decodeGapsAVX512(dst, &src[0], len(src), numSelectors, base, n))
		case simd.AVX2:
			if r := decodeGapsAVX2(dst, &src[0], len(src), numSelectors, base, n); r != tooShort {
				return split(r)
			}
		default:
		}
	}
	return decodeGapsGeneric(dst, src, numSelectors, base, n)
}

// The AVX2 kernels' result if fewer bytes than the word they read follow a tail's first byte.
const tooShort = -2

// A kernel's result is a size, or -1, plus 1<<32 if values are wide.
func split(sizeAndWide int) (size int, wide bool) {
	return int(int32(sizeAndWide)), sizeAndWide >= 1<<32
}
