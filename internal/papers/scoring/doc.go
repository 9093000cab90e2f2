// Package scoring computes scores of documents in device memory: the
// contributions of postings, bit-identical to package score, and their sums.
// Its input comes from packages decode and intersect; package selection finds
// the best documents.
//
// # Frequencies
//
// A candidate is a document of an intersection: its DocID, and the index of its
// posting in each list. Its frequency is read from an array or from the packed
// bits of its block (codec.SIMDBP), without decoding a list for a few
// candidates (Ding, He, Yan and Suel, "Using graphics processors for high
// performance IR query processing", WWW 2009, §8.2).
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
// which is exact: contributions are below 2^32, and there are at most MaxTerms.
//
// # Kernels
//
// All have blocks of 256 threads, grids of any size and no dynamic shared
// memory; _narrow and _wide are the two kinds of sums. Thread i of the grid
// processes the elements i, i + threads, and so on.
//
//	kernel                   does                                      reference
//	scoring_contributions    contributions of a list's postings        score.Term.Score
//	scoring_candidates_*     adds one term to the sums of candidates   codec.SIMDBP.FreqAt, Term.Score
//	scoring_query_*          scores candidates in all lists at once    the same
//	scoring_clear            clears accumulators
//	scoring_accumulate_*     adds one list to accumulators, §8.3       traverse, exhaustive-taat
//	scoring_accumulate_all_* adds all lists at once, atomically        the same
//
// scoring_candidates implements §8.2, where scores stay with the candidates
// between intersections. scoring_query keeps the indexes of the postings
// instead, and reads and writes each sum once. §8.3 is exhaustive: an
// accumulator for each document, lists one after another, without atomics; all
// lists in one launch need them.
//
// # Trust
//
// Kernels check nothing: DocIDs are below the length of Lengths and of the
// accumulators, postings below the list's number, and payloads are valid, as
// verified on the host.
//
// # Concurrency
//
// Kernels is safe for concurrent use. Calls enqueue work and allocate nothing;
// buffers must stay allocated until the work has completed.
package scoring
