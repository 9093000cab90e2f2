//go:build amd64 && !noasm

package line

import "github.com/griffin-search/griffin/internal/simd"

func add(dst *[Len]uint32, start, slope uint64) bool {
	switch simd.Current() {
	case simd.AVX512:
		return addAVX512(dst, start, slope)
	case simd.AVX2:
		return addAVX2(dst, start, slope)
	}
	return AddTail(dst[:], start, slope)
}
