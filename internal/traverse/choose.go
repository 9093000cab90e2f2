package traverse

import "github.com/griffin-search/griffin/internal/simd"

// Choose returns the traversal expected to be fastest, by the lengths of the lists and the
// cached derived structures. missing tells it that documents may be deleted or filtered. It does not allocate. It takes a few
// nanoseconds per leg, about fifty with external weights or from 8 legs on.
//
// On the Wikipedia passages with 334 queries of the two TREC Terabyte logs
// (docs/benchmarks/traversals.md):
//
//   - And: svs is the fastest, or within 0.1 µs of it, at every length and every ratio from
//     1 to 2^19. Linear merging, which griffin18 (PPoPP 2018, §2.2) prefers for similar
//     lengths, takes 1.5 to 2 times the time there.
//   - Or: block-max-maxscore, from a number of postings on that depends on the number of lists
//     and on k (fewPostings). With fewer, or at most k, merged-scores is faster: it reads the lists while
//     the other prepares, passes through documents between postings and, with many hits, can prune little.
//   - Or, of texts, from 8 lists on: windowed-taat, if about half of the postings or more are in lists
//     that block-max-maxscore cannot skip (allPays).
//   - Or, with external weights, from 4 lists on: windowed-taat takes 0.3 to 0.6 times the time of
//     block-max-maxscore, if its copies of the lists are kept or have room. Building them costs more than
//     the query. It loses if there are few postings for the documents and hits (windowsPay). For few hits of
//     few long lists, block-max-pruning takes half of its time (rangesPay; docs/benchmarks/sparse.md).
func Choose(mode Mode, legs []Leg, k int, missing bool) Traversal {
	if mode == And {
		return svs{}
	}
	numLists, numPostings, linear := 0, 0, true
	for i := range legs {
		if n := int(legs[i].List.DocFreq); n > 0 {
			numLists++
			numPostings += n
			linear = linear && legs[i].Term.Linear
		}
	}
	if numLists > 0 && numPostings <= max(fewPostings(numLists, k, linear), min(k, manyHits)) {
		return mergedScores{}
	}
	if numLists < severalLists {
		return blockMaxMaxScore{}
	}
	numDocs := len(legs[0].Lengths)
	switch {
	case linear:
		if rangesPay(numLists, numPostings, numDocs, k) && rangesStay(legs) {
			return blockMaxPruning{}
		}
		if windowsPay(numPostings, numDocs, k) && windowsStay(legs) {
			return windowedTAAT{}
		}
	case !missing && allPays(legs, numLists, numPostings, numDocs, k):
		return windowedTAAT{}
	}
	return blockMaxMaxScore{}
}

const (
	// With more hits, and more postings than fewPostings, block-max-maxscore is chosen even if it can prune nothing.
	manyHits     = 1024
	severalLists = 4  // from which windowed-taat and block-max-pruning are considered
	fewHits      = 16 // for block-max-pruning
)

// fewPostings returns the number of postings up to which merged-scores is faster than block-max-maxscore.
func fewPostings(numLists, k int, linear bool) int {
	few := &fewForSomeHits
	switch {
	case linear:
	case k >= hundredsOfHits:
		few = &fewForHundredsOfHits
	case k >= dozensOfHits:
		few = &fewForDozensOfHits
	}
	return few[min(numLists, len(few)-1)]
}

const dozensOfHits, hundredsOfHits = 64, 512

// By the number of lists. Measured for 1, 2, 3, 5, 8 and 12 lists over 250,000 documents with k = 10, and also for 4 and 6 lists with k = 100 and
// 1000 (docs/benchmarks/traversals.md).
var (
	fewForSomeHits       = [10]int{0, 1280, 2048, 4096, 3584, 3072, 2304, 1792, 1536, 512}
	fewForDozensOfHits   = [10]int{0, 8192, 6144, 6144, 3584, 3072, 2304, 1792, 1536, 512}
	fewForHundredsOfHits = [10]int{0, 8192, 8192, 8192, 7168, 3584, 4096, 3072, 2560, 2048}
)

// rangesPay reports whether block-max-pruning is faster than windowed-taat. Its time is by list, mostly: on
// 750,000 passages and a Zen 3, 0.1 ms each, k=10. Of 5 to 10 lists with a sixteenth of the documents each, it took 0.4
// to 0.6 times the time; of more, or shorter ones, more.
func rangesPay(numLists, numPostings, numDocs, k int) bool {
	return k <= fewHits && numLists <= 12 && numPostings >= numDocs/16*numLists
}

// windowsPay reports whether windowed-taat is faster than block-max-maxscore. At the limits it takes 0.8 to 1.1 times
// the time. With 8 times as many postings it takes 0.4 to 0.6 times. Measured on a Zen 3 with 3 to 15 lists over 200,000 and
// 750,000 documents, k=10, 200 and 1000 (docs/benchmarks/sparse.md).
func windowsPay(numPostings, numDocs, k int) bool {
	return numPostings >= numDocs/64 && numPostings >= 64*k
}

// allPays reports whether windowed-taat is faster than block-max-maxscore on lists of texts, of which it decodes and scores every posting.
// Where the bounds of single lists let block-max-maxscore skip less than half of the postings, it takes 0.65 to 1 times the time, with AVX-512 less;
// without such bounds, as with missing documents, nothing is known. With few hits of many documents, the bounds say too little. Measured
// with 1 to 24 lists, k=10 to 1000, on a Zen 3 over 250,000 passages and 2 million generated documents, and on a Xeon over 500,000 passages
// (docs/benchmarks/traversals.md).
func allPays(legs []Leg, numLists, numPostings, numDocs, k int) bool {
	const (
		leastLists, mostLists = 8, fewLegs
		leastPostings         = 1 << 14
		postingsOfHit         = 1 << 12
	)
	if numLists < leastLists || numLists > mostLists || numPostings < max(numDocs/16, leastPostings) || numPostings/postingsOfHit > k {
		return false
	}
	leastTenths := 5
	if simd.Current() == simd.AVX512 {
		leastTenths = 4
	}
	essential := int(Essential(legs, k, nil))
	return essential < numPostings && 10*essential >= leastTenths*numPostings
}
