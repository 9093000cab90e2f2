package traverse

// Choose returns the traversal that is expected to be the fastest for a query of a mode
// over a segment. It uses the lengths of the lists and the cached derived structures. It
// does not allocate and takes a few nanoseconds per leg, about fifty with external weights.
//
// It is based on measurements on the Wikipedia passages, with 334 queries of the two TREC
// Terabyte logs in all traversals (docs/benchmarks/traversals.md):
//
//   - And: svs is the fastest, or within a tenth of a microsecond of it, at every ratio of
//     lengths from 1 to 2^19 and every length. Linear merging, which griffin18 (PPoPP 2018,
//     §2.2) prefers for lists of similar lengths, takes 1.5 to 2 times the time there.
//   - Or: block-max-maxscore is the fastest from about 256 postings on, except for some
//     queries by a few per cent. With fewer postings, or not many more than k, there is
//     nothing to prune, and its preparations cost more than reading all: exhaustive-daat
//     takes a fifth to a half of the time. A single list is an exception, because
//     block-max-maxscore needs no preparations for it.
//   - Or, with external weights: from 4 lists on, block-max-pruning takes 0.3 to 0.6 times
//     the time of block-max-maxscore for k=10 and 0.6 to 0.8 times for k=100; for k=1000
//     they are equal. This assumes that its derived structures exist: building them for one
//     query costs more than the query. So it is chosen only if they are kept, or there is
//     room to keep them, including the copies of postings, without which it gains nothing.
func Choose(mode Mode, legs []Leg, k int) Traversal {
	if mode == And {
		return svs{}
	}
	numLists, numPostings, linear := 0, 0, false
	for i := range legs {
		if n := int(legs[i].List.DocFreq); n > 0 {
			numLists++
			numPostings += n
			linear = legs[i].Term.Linear
		}
	}
	if numLists > 1 && numPostings <= max(fewPostings, min(k, manyHits)) {
		return exhaustiveDAAT{Or}
	}
	if linear && numLists >= severalLists && k <= fewHits && rangesStay(legs) {
		return blockMaxPruning{}
	}
	return blockMaxMaxScore{}
}

const (
	// fewPostings is the number of postings that exhaustive-daat reads in the time that
	// block-max-maxscore needs to prune them, k=10.
	fewPostings = 256
	// manyHits is the number of postings above which block-max-maxscore is faster even if
	// it prunes nothing.
	manyHits = 1024
	// With at least severalLists lists of weights, and up to fewHits hits,
	// block-max-pruning is faster than block-max-maxscore.
	severalLists = 4
	fewHits      = 256
)
