// Package saat searches impact-ordered lists (package impact) score at a time: it adds the
// impact of each segment, highest first, to the accumulators of its documents, and returns the
// documents with the highest.
//
// A Variant's accumulators and heaps are from Trotman and Crane, "Micro and macro optimization
// of SaaT search"; windowed and flat are faster. An Engine runs one Variant, a Batch several
// Engines.
//
//   - windowed, the default: accumulators of 8, 16 or 32 bits, as the query allows, filled
//     window by window, so that a window stays in the cache; each is scanned and zeroed
//     once.
//   - flat: the same in score-at-a-time order, which a budget needs.
//   - dynamic, array, paged, paged-array: 16-bit accumulators as in §5 of the paper, with
//     the top k always in a heap; 32 bits for a query that needs them.
//
// All variants give bit-identical answers: sums are exact (none exceeds the width), and the
// order is total, score descending, then DocID ascending. With a budget, Result.Missed bounds
// the error of any score.
//
// # Pruning and order
//
// Documents arrive by impact, so one whose sum equals the k-th best may precede it: heaps
// compare in the total order, never by score alone. Only the final scan is in DocID order and
// may skip equal scores.
//
// # Concurrency
//
// An Engine is not safe for concurrent use; queries and indexes no larger than earlier ones do
// not allocate.
package saat

//go:generate go run ./genloops
