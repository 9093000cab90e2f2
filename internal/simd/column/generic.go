package column

import (
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// The oracle of the assembly and the fallback.

func unpackGeneric(dst *[Len]int64, src []byte, width uint8, add int64) {
	if width <= bitpack.MaxWidth {
		var narrow [Len]uint32
		bitpack.Unpack(&narrow, src, width, 0)
		for i, v := range narrow {
			dst[i] = int64(v) + add
		}
		return
	}
	for i := range dst {
		dst[i] = int64(At(src, i, width)) + add
	}
}

func rangeGeneric(set *[Len / 64]uint64, src []byte, width uint8, lo, hi uint64) {
	*set = [Len / 64]uint64{}
	if width <= bitpack.MaxWidth {
		var narrow [Len]uint32
		bitpack.Unpack(&narrow, src, width, 0)
		lo, span := uint32(lo), uint32(hi-lo)
		for i, v := range narrow {
			set[i/64] |= bit(v-lo <= span) << (i % 64)
		}
		return
	}
	for i := range Len {
		set[i/64] |= bit(At(src, i, width)-lo <= hi-lo) << (i % 64)
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func selectGeneric(dst *Selected, values *[Len]uint32, set *[Len / 64]uint64) int {
	n := 0
	for i, w := range set {
		part := (*[64]uint32)(values[64*i:])
		for ; w != 0; w &= w - 1 {
			dst[n] = part[bits.TrailingZeros64(w)]
			n++
		}
	}
	return n
}

func depositGeneric(word, set uint64) (out uint64) {
	for ; set != 0 && word != 0; set &= set - 1 {
		if word&1 != 0 {
			out |= set & -set
		}
		word >>= 1
	}
	return out
}

func extractGeneric(word, set uint64) (out uint64) {
	for i := 0; set != 0; set &= set - 1 {
		if word&set&-set != 0 {
			out |= 1 << i
		}
		i++
	}
	return out
}

// The first four positions of a word are written without a branch: branches on random bits cost more than all else.
func listGeneric(p *Positions, set []uint64) int {
	n := 0
	for i, w := range set {
		first, to := 64*i, (*[4]uint16)(p[n:])
		count := bits.OnesCount64(w)
		for j := range to {
			to[j] = uint16(first + bits.TrailingZeros64(w))
			w &= w - 1
		}
		for at := n + len(to); w != 0; w &= w - 1 {
			p[at] = uint16(first + bits.TrailingZeros64(w))
			at++
		}
		n += count
	}
	return n
}

func tallyGeneric(counts []uint32, d *Directory, src []byte, positions []uint16) int {
	for n, at := range positions {
		block := at / Len % Len
		v := uint64(d.Mins[block]) + At(src[d.Offsets[block]:], int(at%Len), uint8(bits.Len64(uint64(d.Spans[block]))))
		if v >= uint64(len(counts)) {
			return n
		}
		counts[v]++
	}
	return len(positions)
}

func tallyEvenGeneric(counts []uint32, mins *[Len]int64, src []byte, width uint8, positions []uint16) int {
	for n, at := range positions {
		v := uint64(mins[at/Len%Len]) + At(src, int(at), width)
		if v >= uint64(len(counts)) {
			return n
		}
		counts[v]++
	}
	return len(positions)
}

// denseGap is a mean distance of positions.
const denseGap = 16

// Several bits of a word are gathered first: otherwise each waits for the store of the last one.
func markGeneric(set []uint64, positions []uint32) {
	if len(positions) == 0 || positions[len(positions)-1]-positions[0] > denseGap*uint32(len(positions)) {
		for _, d := range positions {
			set[d/64] |= 1 << (d % 64)
		}
		return
	}
	at, bits := positions[0]/64, uint64(0)
	for _, d := range positions {
		if d/64 != at {
			set[at] |= bits
			at, bits = d/64, 0
		}
		bits |= 1 << (d % 64)
	}
	set[at] |= bits
}

func onesGeneric(set []uint64) (n int) {
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}
