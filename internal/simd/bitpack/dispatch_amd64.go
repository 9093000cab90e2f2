//go:build amd64 && !noasm

package bitpack

import "github.com/griffin-search/griffin/internal/simd"

func unpack(dst *[Len]uint32, src []byte, width uint8, add uint32) {
	src = check(src, width)
	switch simd.Current() {
	case simd.AVX512:
		unpackAVX512(dst, &src[0], add, width)
	case simd.AVX2:
		unpackAVX2(&dst[0], &src[0], add, width, Len/group)
	default:
		unpackGeneric(dst[:], src, add, width)
	}
}

func unpackGaps(dst *[Len]uint32, src []byte, base uint32, width uint8) {
	src = check(src, width)
	switch simd.Current() {
	case simd.AVX512:
		unpackGapsAVX512(dst, &src[0], base, width)
	case simd.AVX2:
		unpackGapsAVX2(&dst[0], &src[0], base, width, Len/group)
	default:
		unpackGapsGeneric(dst[:], src, base, 1, width)
	}
}

// unpackN and unpackGapsN repeat the code for whole blocks, the most frequent: one call less
// saves 4 %.

func unpackN(dst *[Len]uint32, src []byte, width uint8, add uint32, n int) {
	if asBlock(src, width, n) {
		switch simd.Current() {
		case simd.AVX512:
			unpackAVX512(dst, &src[0], add, width)
		case simd.AVX2:
			unpackAVX2(&dst[0], &src[0], add, width, Len/group)
		default:
			unpackGeneric(dst[:], src, add, width)
		}
		return
	}
	src = checkN(src, width, n)
	switch simd.Current() {
	case simd.AVX512:
		if width == 0 { // src may be empty
			src = make([]byte, 1)
		}
		unpackNAVX512(dst, &src[0], add, width, len(src), (n+15)/16)
	case simd.AVX2:
		whole, groups := split(src, width, n)
		if whole > 0 {
			unpackAVX2(&dst[0], &src[0], add, width, whole)
		}
		if whole < groups {
			var tail [tailSize]byte
			copy(tail[:], src[whole*int(width):])
			unpackAVX2(&dst[whole*group], &tail[0], add, width, groups-whole)
		}
	default:
		unpackNGeneric(dst, src, width, add, n)
	}
}

func unpackGapsN(dst *[Len]uint32, src []byte, base uint32, width uint8, n int) {
	if asBlock(src, width, n) {
		switch simd.Current() {
		case simd.AVX512:
			unpackGapsAVX512(dst, &src[0], base, width)
		case simd.AVX2:
			unpackGapsAVX2(&dst[0], &src[0], base, width, Len/group)
		default:
			unpackGapsGeneric(dst[:], src, base, 1, width)
		}
		return
	}
	src = checkN(src, width, n)
	switch simd.Current() {
	case simd.AVX512:
		if width == 0 { // src may be empty
			src = make([]byte, 1)
		}
		unpackGapsNAVX512(dst, &src[0], base, width, len(src), (n+15)/16)
	case simd.AVX2:
		whole, groups := split(src, width, n)
		if whole > 0 {
			unpackGapsAVX2(&dst[0], &src[0], base, width, whole)
			base = dst[whole*group-1]
		}
		if whole < groups {
			var tail [tailSize]byte
			copy(tail[:], src[whole*int(width):])
			unpackGapsAVX2(&dst[whole*group], &tail[0], base, width, groups-whole)
		}
	default:
		unpackGapsNGeneric(dst, src, base, width, n)
	}
}

func prefixSum(dst *[Len]uint32, base uint32) {
	switch simd.Current() {
	case simd.AVX512:
		prefixSumAVX512(dst, base)
	case simd.AVX2:
		prefixSumAVX2(dst, base)
	default:
		prefixSumGeneric(dst, base)
	}
}
