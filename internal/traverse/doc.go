// Package traverse finds the best k documents of a segment for a flat query: the documents
// that contain any (Or) or all (And) of its terms, scored by the sum of the terms'
// contributions.
//
// A Traversal is an algorithm, selected by mode and name; each is in one file:
//
//   - exhaustive-daat, exhaustive-taat (Or, And): score every posting, document at a time
//     or term at a time. They are the oracles of the others.
//   - maxscore, wand (Or): pruning with one bound per list.
//   - block-max-wand (Or): WAND with block bounds; variable-block-max-wand: with blocks cut
//     so that bounds are tight.
//   - block-max-maxscore (Or): MaxScore over windows with block bounds.
//   - block-max-pruning (Or): ranges of DocIDs, the most promising first.
//   - merge, svs-binary, svs-gallop (And): small versus small by linear merging, by binary
//     search over skip pointers, by galloping; without pruning.
//   - svs (And): small versus small, with skipping and block bounds.
//   - block-max-and (And): document at a time with block bounds.
//   - linear-regression, hash-segmentation-16 to -256, interpolation (And): look up each
//     posting of the shortest list separately in a contracted range of the longer ones,
//     without decoding them if the codec allows (ao11).
//
// All of them return the same hits, including ties: scores are integers, and a document is
// excluded only if a bound proves that it cannot enter the queue.
//
// Measured by BenchmarkWiki (750,000 Wikipedia passages; the first 1,000 TREC Terabyte
// efficiency queries of 2005 and 2006; Go 1.26, one thread of a 2-core Zen 5 machine with
// other load, so the mean over queries of each query's fastest of 100 runs for k=10 and of
// 20 for k=1000), in microseconds per query:
//
//	                       TB05 k=10   k=1000   TB06 k=10   k=1000
//	block-max-maxscore            56      236         124      526
//	svs                           12       15          16       18
//
// Begin, Intersect and Finish execute a conjunction in steps, list by list, for queries
// that several processors share. Candidates are the intermediate results between steps.
//
// Higher layers determine the meaning of a query (analysis, idf, boosts, segments) and
// evaluate phrases and nested queries. Traversals have no state and are safe for concurrent
// use, each run with its own Scratch and Queue.
package traverse
