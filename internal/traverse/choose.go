package traverse

// Choose returns the traversal that is expected to answer a query of a mode over
// a segment first, from the lengths of its lists and what is kept beside them. It
// allocates nothing and takes a few nanoseconds a leg, with weights from outside
// about fifty.
//
// What it knows was measured on the Wikipedia passages, with 334 queries of the
// two TREC Terabyte logs in all traversals (docs/benchmarks/traversals.md):
//
//   - And: svs is the fastest, or within a tenth of a microsecond of it, at every
//     ratio of lengths from 1 to 2^19 and every length; linear merging, which
//     griffin18 (PPoPP 2018, §2.2) prefers where lengths are alike, takes 1.5 to 2
//     times as long there.
//   - Or: block-max-maxscore is the fastest of all from about 256 postings on, but
//     for some queries by a few per cent. With fewer postings, or if there are not
//     many more than are asked for, there is nothing to prune and its preparations
//     cost more than reading all: exhaustive-daat then takes a fifth to a half of
//     the time. A single list is no such case, as block-max-maxscore takes it as
//     it is.
//   - Or, with weights from outside: block-max-pruning takes from 4 lists on 0.3 to
//     0.6 times as long as block-max-maxscore for k=10 and 0.6 to 0.8 times for
//     k=100; for k=1000 they are level. That is with what it derives from the
//     lists at hand: made for one query, this costs more than the query does. So it
//     is chosen only if it is kept, or there is room to keep it, the copies of
//     postings included: without them it gains nothing.
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
	// fewPostings is how many postings exhaustive-daat reads in the time that
	// block-max-maxscore needs to prune them, k=10.
	fewPostings = 256
	// manyHits is the number of postings from which on block-max-maxscore is
	// faster even if it can prune none.
	manyHits = 1024
	// From severalLists lists of weights on, and up to fewHits hits,
	// block-max-pruning is faster than block-max-maxscore.
	severalLists = 4
	fewHits      = 256
)
