//go:build amd64 && !noasm

package accumulate

import "github.com/griffin-search/griffin/internal/simd"

func scatter8(acc []uint8, docIDs []uint32, v uint8) int {
	if simd.Current() == simd.PureGo || len(acc) == 0 || len(docIDs) == 0 {
		return scatterGeneric(acc, docIDs, v)
	}
	return scatter8AMD64(&acc[0], len(acc), &docIDs[0], len(docIDs), v)
}

func scatter16(acc []uint16, docIDs []uint32, v uint16) int {
	if simd.Current() == simd.PureGo || len(acc) == 0 || len(docIDs) == 0 {
		return scatterGeneric(acc, docIDs, v)
	}
	return scatter16AMD64(&acc[0], len(acc), &docIDs[0], len(docIDs), v)
}

func scatter32(acc []uint32, docIDs []uint32, v uint32) int {
	if simd.Current() == simd.PureGo || len(acc) == 0 || len(docIDs) == 0 {
		return scatterGeneric(acc, docIDs, v)
	}
	return scatter32AMD64(&acc[0], len(acc), &docIDs[0], len(docIDs), v)
}

func bitmap8(acc []uint8, words []byte, v uint8) {
	switch simd.Current() {
	case simd.AVX512:
		bitmap8AVX512(&acc[0], &words[0], len(words)/8, v)
	case simd.AVX2:
		bitmap8AVX2(&acc[0], &words[0], len(words)/8, v)
	default:
		bitmap8Generic(acc, words, v)
	}
}

func bitmap16(acc []uint16, words []byte, v uint16) {
	switch simd.Current() {
	case simd.AVX512:
		bitmap16AVX512(&acc[0], &words[0], len(words)/8, v)
	case simd.AVX2:
		bitmap16AVX2(&acc[0], &words[0], len(words)/8, v)
	default:
		bitmapGeneric(acc, words, v)
	}
}

func bitmap32(acc []uint32, words []byte, v uint32) {
	switch simd.Current() {
	case simd.AVX512:
		bitmap32AVX512(&acc[0], &words[0], len(words)/8, v)
	case simd.AVX2:
		bitmap32AVX2(&acc[0], &words[0], len(words)/8, v)
	default:
		bitmapGeneric(acc, words, v)
	}
}

func drain8(acc []uint8, least uint8) (at int, high uint64) {
	level, lines := simd.Current(), len(acc)/Line
	if level == simd.PureGo || lines == 0 {
		return drain8Generic(acc, least)
	}
	if level == simd.AVX512 {
		at, high = drain8AVX512(&acc[0], lines, least)
		return at * Line, high
	}
	at = drain8AVX2(&acc[0], lines, least)
	return drainedTo(acc, at, least)
}

func drain16(acc []uint16, least uint16) (at int, high uint64) {
	level, lines := simd.Current(), len(acc)/Line
	if level == simd.PureGo || lines == 0 {
		return drainGeneric(acc, least)
	}
	if level == simd.AVX512 {
		at, high = drain16AVX512(&acc[0], lines, least)
		return at * Line, high
	}
	at = drain16AVX2(&acc[0], lines, least)
	return drainedTo(acc, at, least)
}

func drain32(acc []uint32, least uint32) (at int, high uint64) {
	level, lines := simd.Current(), len(acc)/Line
	if level == simd.PureGo || lines == 0 {
		return drainGeneric(acc, least)
	}
	if level == simd.AVX512 {
		at, high = drain32AVX512(&acc[0], lines, least)
		return at * Line, high
	}
	at = drain32AVX2(&acc[0], lines, least)
	return drainedTo(acc, at, least)
}

func drainedTo[T Accumulator](acc []T, line int, least T) (at int, high uint64) {
	at = line * Line
	if at == len(acc) {
		return at, 0
	}
	return at, reaching((*[Line]T)(acc[at:]), least)
}
