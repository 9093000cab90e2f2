//go:build !noasm

package accumulate

import "github.com/griffin-search/griffin/internal/simd"

func scatter8(acc []uint8, docIDs []uint32, v uint8) int    { return scatterGeneric(acc, docIDs, v) }
func scatter16(acc []uint16, docIDs []uint32, v uint16) int { return scatterGeneric(acc, docIDs, v) }
func scatter32(acc []uint32, docIDs []uint32, v uint32) int { return scatterGeneric(acc, docIDs, v) }

func bitmap8(acc []uint8, words []byte, v uint8) {
	if simd.Current() == simd.PureGo {
		bitmap8Generic(acc, words, v)
		return
	}
	bitmap8NEON(&acc[0], &words[0], len(words)/8, v)
}

func bitmap16(acc []uint16, words []byte, v uint16) {
	if simd.Current() == simd.PureGo {
		bitmapGeneric(acc, words, v)
		return
	}
	bitmap16NEON(&acc[0], &words[0], len(words)/8, v)
}

func bitmap32(acc []uint32, words []byte, v uint32) {
	if simd.Current() == simd.PureGo {
		bitmapGeneric(acc, words, v)
		return
	}
	bitmap32NEON(&acc[0], &words[0], len(words)/8, v)
}

func drain8(acc []uint8, least uint8) (at int, high uint64) {
	lines := len(acc) / Line
	if simd.Current() == simd.PureGo || lines == 0 {
		return drain8Generic(acc, least)
	}
	return drainedTo(acc, drain8NEON(&acc[0], lines, least), least)
}

func drain16(acc []uint16, least uint16) (at int, high uint64) {
	lines := len(acc) / Line
	if simd.Current() == simd.PureGo || lines == 0 {
		return drainGeneric(acc, least)
	}
	return drainedTo(acc, drain16NEON(&acc[0], lines, least), least)
}

func drain32(acc []uint32, least uint32) (at int, high uint64) {
	lines := len(acc) / Line
	if simd.Current() == simd.PureGo || lines == 0 {
		return drainGeneric(acc, least)
	}
	return drainedTo(acc, drain32NEON(&acc[0], lines, least), least)
}

func drainedTo[T Accumulator](acc []T, line int, least T) (at int, high uint64) {
	at = line * Line
	if at == len(acc) {
		return at, 0
	}
	return at, reaching((*[Line]T)(acc[at:]), least)
}
