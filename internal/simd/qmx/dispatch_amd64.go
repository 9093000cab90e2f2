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

// tooShort is the result of the AVX2 kernels if fewer bytes than a word follow the first
// byte of a tail: they read a word there.
const tooShort = -2

// split splits the result of a kernel: a size, or -1, plus 1<<32 if values are wide.
func split(sizeAndWide int) (size int, wide bool) {
	return int(int32(sizeAndWide)), sizeAndWide >= 1<<32
}
