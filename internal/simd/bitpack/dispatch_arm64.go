//go:build !noasm

package bitpack

import "github.com/griffin-search/griffin/internal/simd"

func unpack(dst *[Len]uint32, src []byte, width uint8, add uint32) {
	src = check(src, width)
	if simd.Current() == simd.PureGo {
		unpackGeneric(dst[:], src, add, width)
		return
	}
	unpackNEON(&dst[0], &src[0], add, width, Len/group)
}

func unpackGaps(dst *[Len]uint32, src []byte, base uint32, width uint8) {
	src = check(src, width)
	if simd.Current() == simd.PureGo {
		unpackGapsGeneric(dst[:], src, base, 1, width)
		return
	}
	unpackGapsNEON(&dst[0], &src[0], base, width, Len/group)
}

func unpackN(dst *[Len]uint32, src []byte, width uint8, add uint32, n int) {
	if asBlock(src, width, n) {
		unpack(dst, src, width, add)
		return
	}
	src = checkN(src, width, n)
	if simd.Current() == simd.PureGo {
		unpackNGeneric(dst, src, width, add, n)
		return
	}
	whole, groups := split(src, width, n)
	if whole > 0 {
		unpackNEON(&dst[0], &src[0], add, width, whole)
	}
	if whole < groups {
		var tail [tailSize]byte
		copy(tail[:], src[whole*int(width):])
		unpackNEON(&dst[whole*group], &tail[0], add, width, groups-whole)
	}
}

func unpackGapsN(dst *[Len]uint32, src []byte, base uint32, width uint8, n int) {
	if asBlock(src, width, n) {
		unpackGaps(dst, src, base, width)
		return
	}
	src = checkN(src, width, n)
	if simd.Current() == simd.PureGo {
		unpackGapsNGeneric(dst, src, base, width, n)
		return
	}
	whole, groups := split(src, width, n)
	if whole > 0 {
		unpackGapsNEON(&dst[0], &src[0], base, width, whole)
		base = dst[whole*group-1]
	}
	if whole < groups {
		var tail [tailSize]byte
		copy(tail[:], src[whole*int(width):])
		unpackGapsNEON(&dst[whole*group], &tail[0], base, width, groups-whole)
	}
}

func prefixSum(dst *[Len]uint32, base uint32) {
	if simd.Current() == simd.PureGo {
		prefixSumGeneric(dst, base)
		return
	}
	prefixSumNEON(dst, base)
}
