// Package traverse finds a segment's best k documents with any (Or) or all (And) of a query's
// terms, scored by the sum of contributions.
//
// A Traversal is an algorithm, selected by mode and name, in a file of its own:
//
//   - exhaustive-daat, exhaustive-taat (Or, And): score every posting; the oracles.
//   - windowed-taat (Or): score every posting in windows of DocIDs, weights from uncompressed copies.
//   - merged-scores (Or): scores whole lists, drops low scores and merges; for short lists.
//   - maxscore, wand (Or): pruning with one bound per list.
//   - block-max-wand (Or): WAND with block bounds; variable-block-max-wand: with cuts that
//     make bounds tight.
//   - block-max-maxscore (Or): MaxScore over windows with block bounds.
//   - block-max-pruning (Or): ranges of DocIDs, the most promising first.
//   - merge, svs-binary, svs-gallop (And): small versus small by linear merging, binary
//     search over skip pointers, galloping; without pruning.
//   - svs (And): small versus small, with skipping and block bounds.
//   - block-max-and (And): document at a time with block bounds.
//   - linear-regression, hash-segmentation-16 to -256, interpolation (And): look up postings
//     in a contracted range of the longer lists, if possible without decoding (ao11).
//   - look-up (Or, And): look up the documents of a filter in the lists.
//
// All return the same hits, including ties: scores are integers, and only a bound that proves
// that a document cannot enter excludes it.
//
// BenchmarkWiki (750,000 Wikipedia passages; the first 1,000 TREC Terabyte efficiency queries
// of 2005 and 2006; Go 1.26, one thread of a 2-core Zen 5 machine with other load, so the mean
// of each query's fastest of 100 runs for k=10 and of 20 for k=1000), µs per query:
//
//	                       TB05 k=10   k=1000   TB06 k=10   k=1000
//	block-max-maxscore            56      236         124      526
//	svs                           12       15          16       18
//
// Begin, Intersect and Finish execute a conjunction list by list, for queries that several
// processors share; Candidates are the intermediate results.
//
// Higher layers handle analysis, idf, boosts, segments, phrases and nested queries. Traversals
// are safe for concurrent use, each run with its own Scratch and Queue.
package traverse
