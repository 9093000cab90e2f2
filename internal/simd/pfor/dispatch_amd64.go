//go:build amd64 && !noasm

package pfor

import "github.com/griffin-search/griffin/internal/simd"

func decode(dst *[Len]uint32, b *Block) bool {
	if simd.Current() != simd.AVX512 {
		return decodeGeneric(dst, b)
	}
	b.unpack(dst, 1)
	switch b.Size {
	case 1:
		return patch8AVX512(dst, &b.Values[0], b.First, b.Count, b.N)
	case 2:
		return patch16AVX512(dst, &b.Values[0], b.First, b.Count, b.N)
	}
	return patch32AVX512(dst, &b.Values[0], b.First, b.Count, b.N)
}

func decodeGaps(dst *[Len]uint32, b *Block, base uint32) bool {
	if simd.Current() != simd.AVX512 {
		return decodeGapsGeneric(dst, b, base)
	}
	b.unpack(dst, 1)
	switch b.Size {
	case 1:
		return patchGaps8AVX512(dst, &b.Values[0], b.First, b.Count, b.N, base)
	case 2:
		return patchGaps16AVX512(dst, &b.Values[0], b.First, b.Count, b.N, base)
	}
	return patchGaps32AVX512(dst, &b.Values[0], b.First, b.Count, b.N, base)
}
