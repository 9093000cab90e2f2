//go:build amd64 && !noasm

package scoring

import (
	"math"

	"github.com/griffin-search/griffin/internal/simd"
)

// Gathers of AVX-512 have signed 32-bit indexes.
const maxGather = 1 << 31

func contributions(dst, docIDs, freqs, lengths []uint32, t *Term) {
	level, n := simd.Current(), len(docIDs)
	if level == simd.PureGo || n == 0 || !t.Linear && (len(lengths) == 0 || len(lengths) > maxGather) {
		contributionsGeneric(dst, docIDs, freqs, lengths, t)
		return
	}
	switch {
	case level == simd.AVX512 && t.Linear:
		contributionsAVX512Linear(&dst[0], nil, &freqs[0], nil, n, t.Weight, 0, 0)
	case level == simd.AVX512:
		contributionsAVX512(&dst[0], &docIDs[0], &freqs[0], &lengths[0], n, t.Weight, t.C0, t.C1)
	case n < 8:
		contributionsGeneric(dst, docIDs, freqs, lengths, t)
	default:
		contributionsVectors(dst, docIDs, freqs, lengths, t, n&^7)
		if n%8 > 0 { // the last vector overlaps the one before
			contributionsVectors(dst[n-8:], docIDs[n-8:], freqs[n-8:], lengths, t, 8)
		}
	}
}

// contributionsVectors is contributions of the first n, a multiple of 8.
func contributionsVectors(dst, docIDs, freqs, lengths []uint32, t *Term, n int) {
	if t.Linear {
		contributionsAVX2Linear(&dst[0], nil, &freqs[0], nil, n, t.Weight, 0, 0)
		return
	}
	contributionsAVX2(&dst[0], &docIDs[0], &freqs[0], &lengths[0], n, t.Weight, t.C0, t.C1)
}

func match(of, at *[BlockLen]uint8, docIDs []uint32, block *[BlockLen]uint32, last uint32) (looked, matches int) {
	level := simd.Current()
	switch {
	case level == simd.PureGo || len(docIDs) == 0:
		return matchGeneric(of, at, docIDs, block, last)
	case level == simd.AVX512:
		return matchAVX512(&of[0], &at[0], &docIDs[0], len(docIDs), &block[0], last)
	}
	return matchAVX2(&of[0], &at[0], &docIDs[0], len(docIDs), &block[0], last)
}

func collect(a *Accumulators, docIDs, sums []uint32, first uint32, lines int, least uint32) int {
	level := simd.Current()
	switch {
	case level == simd.PureGo || lines == 0:
		return collectGeneric(a, docIDs, sums, first, lines, least)
	case level == simd.AVX512:
		return collectAVX512(&a.sums[0], &a.marks[0], &docIDs[0], &sums[0], first, lines, least)
	}
	return collectAVX2(&a.sums[0], &a.marks[0], &docIDs[0], &sums[0], first, lines, least)
}

func intersect(to *[BlockLen]uint32, of *[BlockLen]uint8, docIDs []uint32, set []uint64) int {
	if simd.Current() != simd.AVX512 || len(docIDs) == 0 || len(set) == 0 || len(set) > math.MaxUint32/64 {
		return intersectGeneric(to, of, docIDs, set)
	}
	return intersectAVX512(&to[0], &of[0], &docIDs[0], len(docIDs), &set[0], uint32(64*len(set)))
}

func selectScores(toDocIDs, toScores, docIDs, scores []uint32, least uint32) int {
	level, n := simd.Current(), len(docIDs)
	if level == simd.AVX512 && n > 0 {
		return selectAVX512(&toDocIDs[0], &toScores[0], &docIDs[0], &scores[0], n, least)
	}
	found := 0
	if level == simd.AVX2 && n >= 8 {
		found = selectAVX2(&toDocIDs[0], &toScores[0], &docIDs[0], &scores[0], n&^7, least)
		n &= 7
	}
	from := len(docIDs) - n
	return found + selectGeneric(toDocIDs[found:], toScores[found:], docIDs[from:], scores[from:], least)
}
