//go:build (!amd64 && !arm64) || noasm

package scoring

func contributions(dst, docIDs, freqs, lengths []uint32, t *Term) {
	contributionsGeneric(dst, docIDs, freqs, lengths, t)
}

func match(of, at *[BlockLen]uint8, docIDs []uint32, block *[BlockLen]uint32, last uint32) (looked, matches int) {
	return matchGeneric(of, at, docIDs, block, last)
}

func collect(a *Accumulators, docIDs, sums []uint32, first uint32, lines int, least uint32) int {
	return collectGeneric(a, docIDs, sums, first, lines, least)
}

func intersect(to *[BlockLen]uint32, of *[BlockLen]uint8, docIDs []uint32, set []uint64) int {
	return intersectGeneric(to, of, docIDs, set)
}

func selectScores(toDocIDs, toScores, docIDs, scores []uint32, least uint32) int {
	return selectGeneric(toDocIDs, toScores, docIDs, scores, least)
}

func prefetch(*byte, int) {}
