//go:build !noasm

package letters

import "github.com/griffin-search/griffin/internal/simd"

func classify(window *[WindowLen]byte) (letters, others, middles uint64) {
	if simd.Current() == simd.PureGo {
		return classifyBytes(window)
	}
	return classifyAVX2(window)
}
