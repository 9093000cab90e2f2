// Package saat searches impact-ordered lists (package impact) score at a time: it adds the
// impact of each segment of the query's lists, highest first, to the accumulators of the
// segment's documents, and returns the documents with the highest accumulators.
//
// Trotman and Crane, "Micro and macro optimization of SaaT search", is the source of the
// accumulators and heaps of a Variant; windowed and flat are faster. An Engine runs one
// Variant and answers one query at a time. Batch runs several Engines, one query per
// thread.
//
//   - windowed, the default: accumulators as narrow as the query allows, of 8, 16 or 32
//     bits, filled window by window, so that a window stays in the cache. Each window is
//     scanned and zeroed once at its end.
//   - flat: the same in score-at-a-time order, which a budget needs.
//   - dynamic, array, paged, paged-array: 16-bit accumulators as in §5 of the paper, with
//     the top k always in a heap, by Algorithm 1 or 2, inlined or not, counted or not.
//
// All variants give bit-identical answers: sums are exact (a width is used only if no sum
// of the query can exceed it), and the order is total, score descending, then DocID
// ascending. With a budget, the answer uses the processed segments; Result.Missed bounds
// the error of any score.
//
// # Pruning and order
//
// Documents arrive in the order of their impacts, not of their DocIDs. A document whose sum
// equals the k-th best may precede it, so heaps compare in the total order, never by score
// alone. Only the final scan of the accumulators is in DocID order and may skip equal
// scores.
//
// # Concurrency
//
// An Engine is not safe for concurrent use. It does not allocate for queries and indexes
// that are no larger than earlier ones.
package saat

//go:generate go run ./genloops
