//go:build amd64 && !noasm

package eliasfano

import "github.com/griffin-search/griffin/internal/simd"

func docIDs(dst *[Len]uint32, src []byte, base uint32, width uint8) int {
	switch simd.Current() {
	case simd.AVX512:
		return docIDsAVX512(dst, &src[0], base, width)
	case simd.AVX2:
		return docIDsAVX2(dst, &src[0], base, width)
	}
	return docIDsGo(dst, src, base, width)
}

func freqs(dst *[Len]uint32, src []byte, width uint8) int {
	switch simd.Current() {
	case simd.AVX512:
		return freqsAVX512(dst, &src[0], width)
	case simd.AVX2:
		return freqsAVX2(dst, &src[0], width)
	}
	return freqsGo(dst, src, width)
}

func riceDocIDs(dst *[Len]uint32, src []byte, base uint32, width uint8) int {
	switch simd.Current() {
	case simd.AVX512:
		return riceDocIDsAVX512(dst, &src[0], base, width)
	case simd.AVX2:
		return riceDocIDsAVX2(dst, &src[0], base, width)
	}
	return riceDocIDsGo(dst, src, base, width)
}

func riceFreqs(dst *[Len]uint32, src []byte, width uint8) int {
	switch simd.Current() {
	case simd.AVX512:
		return riceFreqsAVX512(dst, &src[0], width)
	case simd.AVX2:
		return riceFreqsAVX2(dst, &src[0], width)
	}
	return riceFreqsGo(dst, src, width)
}
