//go:build !noasm

package scoring

import "github.com/griffin-search/griffin/internal/simd"

func contributions(dst, docIDs, freqs, lengths []uint32, t *Term) {
	n := len(docIDs) &^ 3
	if simd.Current() == simd.PureGo || !t.Linear && len(lengths) == 0 {
		n = 0
	}
	switch {
	case n == 0:
	case t.Linear:
		contributionsNEONLinear(&dst[0], &freqs[0], n, t.Weight)
	default:
		contributionsNEON(&dst[0], &docIDs[0], &freqs[0], &lengths[0], n, t.Weight, t.C0, t.C1)
	}
	contributionsGeneric(dst[n:], docIDs[n:], freqs[n:], lengths, t)
}

func match(of, at *[BlockLen]uint8, docIDs []uint32, block *[BlockLen]uint32, last uint32) (looked, matches int) {
	if simd.Current() == simd.PureGo || len(docIDs) == 0 {
		return matchGeneric(of, at, docIDs, block, last)
	}
	return matchNEON(&of[0], &at[0], &docIDs[0], len(docIDs), &block[0], last)
}

func collect(a *Accumulators, docIDs, sums []uint32, first uint32, lines int, least uint32) int {
	if simd.Current() == simd.PureGo || lines == 0 {
		return collectGeneric(a, docIDs, sums, first, lines, least)
	}
	return collectNEON(&a.sums[0], &a.marks[0], &docIDs[0], &sums[0], first, lines, least)
}

func intersect(to *[BlockLen]uint32, of *[BlockLen]uint8, docIDs []uint32, set []uint64) int {
	return intersectGeneric(to, of, docIDs, set)
}

func selectScores(toDocIDs, toScores, docIDs, scores []uint32, least uint32) int {
	whole, found := len(docIDs)&^3, 0
	if simd.Current() == simd.PureGo {
		whole = 0
	}
	if whole > 0 {
		found = selectNEON(&toDocIDs[0], &toScores[0], &docIDs[0], &scores[0], whole, least)
	}
	return found + selectGeneric(toDocIDs[found:], toScores[found:], docIDs[whole:], scores[whole:], least)
}

func prefetch(p *byte, n int) { prefetchNEON(p, n) }
