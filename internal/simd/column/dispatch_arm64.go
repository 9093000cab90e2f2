//go:build !noasm

package column

import (
	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

func unpack(dst *[Len]int64, src []byte, width uint8, add int64) {
	if simd.Current() == simd.PureGo || width > bitpack.MaxWidth {
		unpackGeneric(dst, src, width, add)
		return
	}
	var narrow [Len]uint32
	bitpack.Unpack(&narrow, src, width, 0)
	widenNEON(dst, &narrow, add)
}

func inRange(set *[Len / 64]uint64, src []byte, width uint8, lo, hi uint64) {
	if simd.Current() == simd.PureGo || width > bitpack.MaxWidth {
		rangeGeneric(set, src, width, lo, hi)
		return
	}
	var narrow [Len]uint32
	bitpack.Unpack(&narrow, src, width, 0)
	rangeNEON(set, &narrow, uint32(lo), uint32(hi-lo))
}

func selectValues(dst *Selected, values *[Len]uint32, set *[Len / 64]uint64) int {
	if simd.Current() == simd.PureGo {
		return selectGeneric(dst, values, set)
	}
	return selectNEON(&dst[0], values, set)
}

func deposit(word, set uint64) uint64 { return depositGeneric(word, set) }
func extract(word, set uint64) uint64 { return extractGeneric(word, set) }

func list(p *Positions, set []uint64) int { return listGeneric(p, set) }
func tally(counts []uint32, d *Directory, src []byte, positions []uint16) int {
	return tallyGeneric(counts, d, src, positions)
}

func tallyEven(counts []uint32, mins *[Len]int64, src []byte, width uint8, positions []uint16) int {
	return tallyEvenGeneric(counts, mins, src, width, positions)
}

func mark(set []uint64, positions []uint32) { markGeneric(set, positions) }
func ones(set []uint64) int                 { return onesGeneric(set) }
