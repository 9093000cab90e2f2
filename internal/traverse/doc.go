// Package traverse finds the best k documents of a segment for a flat query:
// the documents that hold any (Or) or all (And) of some terms, scored by the sum
// of the terms' contributions.
//
// A Traversal is an algorithm, found by mode and name; one file holds each:
//
//   - exhaustive-daat, exhaustive-taat (Or, And): every posting is scored,
//     document at a time or term at a time. The oracles of the others.
//   - maxscore, wand (Or): pruning with a bound a list.
//   - block-max-wand (Or): WAND with a bound a block; variable-block-max-wand:
//     with bounds of blocks cut so that bounds are close.
//   - block-max-maxscore (Or): MaxScore over windows with block bounds.
//   - block-max-pruning (Or): ranges of DocIDs from the most promising down.
//   - merge, svs-binary, svs-gallop (And): small versus small by linear merging,
//     by binary search over skip pointers, by galloping; nothing is pruned.
//   - svs (And): small versus small, with skipping and block bounds.
//   - block-max-and (And): document at a time with block bounds.
//   - linear-regression, hash-segmentation-16 to -256, interpolation (And): each
//     posting of the shortest list is looked up on its own in a contracted range of
//     the longer ones, without decoding them where the codec allows (ao11).
//
// All of them return the same hits, ties included: scores are integers, and a
// document is left out only if a bound proves that it cannot enter the queue.
//
// Measured by BenchmarkWiki (750,000 Wikipedia passages; the first 1,000 TREC
// Terabyte efficiency queries of 2005 and 2006; Go 1.26, one thread of a 2-core
// Zen 5 machine that was busy otherwise, so the mean over queries of each query's
// fastest of 100 runs for k=10 and of 20 for k=1000), in microseconds a query:
//
//	                       TB05 k=10   k=1000   TB06 k=10   k=1000
//	block-max-maxscore            56      236         124      526
//	svs                           12       15          16       18
//
// Begin, Intersect and Finish are a conjunction in pieces, list by list, for queries of
// which other processors do a part: what is left of it after a piece are Candidates.
//
// What a query means (analysis, idf, boosts, which segments) is decided above;
// phrases and nested queries are evaluated there too. Traversals have no state
// and may be used concurrently, each run with its own Scratch and Queue.
package traverse
