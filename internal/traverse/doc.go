// Package traverse finds the best k documents of a segment for a flat query:
// the documents that hold any (Or) or all (And) of some terms, scored by the sum
// of the terms' contributions.
//
// A Traversal is an algorithm, found by mode and name; one file holds each:
//
//   - exhaustive-daat, exhaustive-taat (Or, And): every posting is scored,
//     document at a time or term at a time. The oracles of the others.
//   - block-max-maxscore (Or): MaxScore over windows with block bounds.
//   - svs (And): small versus small, with skipping and block bounds.
//
// All of them return the same hits, ties included: scores are integers, and a
// document is left out only if a bound proves that it cannot enter the queue.
//
// What a query means (analysis, idf, boosts, which segments) is decided above;
// phrases and nested queries are evaluated there too. Traversals have no state
// and may be used concurrently, each run with its own Scratch and Queue.
package traverse
