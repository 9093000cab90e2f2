//go:build !noasm

package line

import "github.com/griffin-search/griffin/internal/simd"

func add(dst *[Len]uint32, start, slope uint64) bool {
	if simd.Current() == simd.PureGo {
		return AddTail(dst[:], start, slope)
	}
	return addNEON(dst, start, slope)
}
