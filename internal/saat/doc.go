// Package saat searches impact-ordered lists (package impact) score at a time: it
// adds the impact of each segment of the query's lists, highest first, to the
// accumulators of the segment's documents, and returns the documents whose
// accumulators are highest.
//
// Trotman and Crane, "Micro and macro optimization of SaaT search", from whom the
// accumulators and heaps come that Variants name, and what is better. An Engine
// runs one Variant and answers one query at a time; Batch runs several of them,
// query per thread.
//
//   - windowed, the default: accumulators as narrow as the query allows, of 8, 16
//     or 32 bits, added to window by window, so that those of a window stay in the
//     cache, and looked through once at the end of each, when they are zeroed.
//   - flat: the same in score-at-a-time order, which a budget needs.
//   - dynamic, array, paged, paged-array: accumulators of 16 bits as §5 of the
//     paper has them, with the top k in a heap at any time, by Algorithm 1 or 2,
//     inlined or not, counted or not.
//
// All of them give the same answer, bit for bit: sums are exact (a width is chosen
// only if no sum of the query can pass it), and the order is total, score falling,
// then DocID rising. With a budget the answer is what the segments processed until
// then make of it, and Result.Missed bounds by how much any score is too low.
//
// # Pruning and order
//
// Documents come here in the order of their impacts, not of their DocIDs, so that
// one whose sum equals the k-th best may still belong before it: heaps compare in
// the total order, never by score alone. Only the look through the accumulators at
// the end goes in the order of DocIDs and may pass over equal scores.
//
// # Concurrency
//
// An Engine is for one goroutine at a time. It allocates nothing once it has
// answered a query as large over an index as large.
package saat

//go:generate go run ./genloops
