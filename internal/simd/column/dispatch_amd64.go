//go:build amd64 && !noasm

package column

import (
	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

func unpack(dst *[Len]int64, src []byte, width uint8, add int64) {
	if width == 0 {
		unpackGeneric(dst, src, width, add)
		return
	}
	switch simd.Current() {
	case simd.AVX512:
		unpackAVX512(dst, &src[0], add, width)
	case simd.AVX2:
		if width > bitpack.MaxWidth {
			unpackLongAVX2(dst, &src[0], add, width)
			return
		}
		var narrow [Len]uint32
		bitpack.Unpack(&narrow, src, width, 0)
		widenAVX2(dst, &narrow, add)
	default:
		unpackGeneric(dst, src, width, add)
	}
}

func inRange(set *[Len / 64]uint64, src []byte, width uint8, lo, hi uint64) {
	if width == 0 {
		rangeGeneric(set, src, width, lo, hi)
		return
	}
	switch simd.Current() {
	case simd.AVX512:
		rangeAVX512(set, &src[0], lo, hi-lo, width)
	case simd.AVX2:
		if width > bitpack.MaxWidth {
			var values [Len]int64
			unpackLongAVX2(&values, &src[0], -int64(lo), width)
			range64AVX2(set, &values, hi-lo)
			return
		}
		var narrow [Len]uint32
		bitpack.Unpack(&narrow, src, width, 0)
		range32AVX2(set, &narrow, uint32(lo), uint32(hi-lo))
	default:
		rangeGeneric(set, src, width, lo, hi)
	}
}

func selectValues(dst *Selected, values *[Len]uint32, set *[Len / 64]uint64) int {
	if simd.Current() == simd.AVX512 {
		return selectAVX512(&dst[0], values, set)
	}
	return selectGeneric(dst, values, set)
}

func deposit(word, set uint64) uint64 {
	if simd.Current() == simd.PureGo {
		return depositGeneric(word, set)
	}
	return depositBMI2(word, set)
}

func extract(word, set uint64) uint64 {
	if simd.Current() == simd.PureGo {
		return extractGeneric(word, set)
	}
	return extractBMI2(word, set)
}

func list(p *Positions, set []uint64) int {
	if simd.Current() == simd.AVX512 {
		return listAVX512(&p[0], &set[0], len(set))
	}
	return listGeneric(p, set)
}

func tally(counts []uint32, d *Directory, src []byte, positions []uint16) int {
	if simd.Current() == simd.PureGo {
		return tallyGeneric(counts, d, src, positions)
	}
	return tallyBMI2(&counts[0], uint64(len(counts)), &d.Mins, &src[0], &positions[0], len(positions))
}

func tallyEven(counts []uint32, mins *[Len]int64, src []byte, width uint8, positions []uint16) int {
	if simd.Current() == simd.PureGo {
		return tallyEvenGeneric(counts, mins, src, width, positions)
	}
	return tallyEvenBMI2(&counts[0], uint64(len(counts)), mins, &src[0], uint64(width), &positions[0], len(positions))
}

// leastMarked positions are worth a call.
const leastMarked = 16

func mark(set []uint64, positions []uint32) {
	if n := len(positions) / 4; len(set) > 0 && n >= leastMarked/4 && simd.Current() != simd.PureGo && markBMI2(&set[0], 64*uint64(len(set)), &positions[0], n) == 0 {
		positions = positions[4*n:]
	}
	markGeneric(set, positions)
}

func ones(set []uint64) (n int) {
	switch level := simd.Current(); {
	case level == simd.AVX512 && len(set) >= 32:
		n = onesAVX512(&set[0], len(set)/32)
		set = set[len(set)/32*32:]
	case level != simd.PureGo && len(set) >= 4:
		n = onesPOPCNT(&set[0], len(set)/4)
		set = set[len(set)/4*4:]
	}
	return n + onesGeneric(set)
}
