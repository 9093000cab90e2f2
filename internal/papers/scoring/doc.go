// Package scoring computes scores of documents in device memory: the
// contributions of postings, bit-identical to package score, and their sums.
// Its input are lists that packages decode and intersect have produced; package
// selection finds the best documents. This package does not know segments,
// queries or transfers.
//
// # Frequencies
//
// A candidate is a document of an intersection: its DocID, and the index of its
// posting in each list. Its frequency is read individually, from an array or
// from the packed bits of its block (codec.SIMDBP), so that the frequencies of
// a list need not be decoded for a few candidates (Ding, He, Yan and Suel,
// "Using graphics processors for high performance IR query processing", WWW
// 2009, §8.2).
//
// # Sums
//
// A sum is narrow, 32 bits, if SumsOf proves from the lists' MaxScores that no
// sum overflows and that no contribution is 0, so that an accumulator of 0 is a
// document without postings. Otherwise it is wide:
//
//	63          48 47                          0
//	+-------------+-----------------------------+
//	|  postings   |           score             |
//	+-------------+-----------------------------+
//
// which is exact for any query: contributions are below 2^32, and there are at
// most MaxTerms of them.
//
// # Kernels
//
// All have blocks of 256 threads, grids of any size and no dynamic shared
// memory; _narrow and _wide are the two kinds of sums. Thread i of the grid
// processes the elements i, i + threads, and so on, and writes their results.
//
//	kernel                   does                                      reference
//	scoring_contributions    contributions of a list's postings        score.Term.Score
//	scoring_candidates_*     adds one term to the sums of candidates   codec.SIMDBP.FreqAt, Term.Score
//	scoring_query_*          scores candidates in all lists at once    the same
//	scoring_clear            clears accumulators
//	scoring_accumulate_*     adds one list to accumulators, §8.3       traverse, exhaustive-taat
//	scoring_accumulate_all_* adds all lists at once, atomically        the same
//
// scoring_candidates implements §8.2, where scores are kept with the candidates
// from one intersection to the next. scoring_query keeps the indexes of the
// postings instead, and reads and writes each sum once. §8.3 is exhaustive: an
// accumulator for each document of the segment, lists one after another. A list
// contains a document at most once, so this needs no atomics; all lists in one
// launch do.
//
// # Trust
//
// Kernels check nothing: DocIDs are below the length of Lengths and of the
// accumulators, postings below the list's number, and payloads are valid, as
// verified on the host.
//
// # Concurrency
//
// Kernels is safe for concurrent use. Calls enqueue work on a stream, do not
// wait for it, and allocate nothing; buffers must stay allocated until the work
// has completed.
package scoring
