// Package scoring computes scores of documents in device memory: the contributions of
// postings, bit for bit as package score does, and their sums. Lists have been decoded
// or intersected before (packages decode, intersect), and the best documents are found
// after (package selection); this package does not know segments, queries or streams
// of copies.
//
// # Frequencies
//
// A candidate is a document of an intersection: its DocID, and the number of its posting
// in each list. Its frequency is read alone, from an array or straight from the packed
// bits of its block (codec.SIMDBP), so that the frequencies of a list are never decoded
// for the few postings that are candidates (Ding, He, Yan and Suel, "Using graphics
// processors for high performance IR query processing", WWW 2009, §8.2).
//
// # Sums
//
// A sum is narrow, 32 bits, where SumsOf proves from the lists' MaxScores that none
// overflows and that no contribution is 0, so that an accumulator of 0 is a document
// without postings. Otherwise it is wide:
//
//	63          48 47                          0
//	+-------------+-----------------------------+
//	|  postings   |           score             |
//	+-------------+-----------------------------+
//
// which is exact for any query: contributions are below 2^32, and there are at most
// MaxTerms of them.
//
// # Kernels
//
// All have blocks of 256 threads, grids of any size and no dynamic shared memory; _narrow
// and _wide are the two kinds of sums. Thread i of the grid takes the elements
// i, i + threads, and so on, and writes their results.
//
//	kernel                   does                                      reference
//	scoring_contributions    contributions of a list's postings        score.Term.Score
//	scoring_candidates_*     adds one term to the sums of candidates   codec.SIMDBP.FreqAt, Term.Score
//	scoring_query_*          scores candidates in all lists at once    the same
//	scoring_clear            clears accumulators
//	scoring_accumulate_*     adds one list to accumulators, §8.3       traverse, exhaustive-taat
//	scoring_accumulate_all_* adds all lists at once, atomically        the same
//
// The candidates' kernels are §8.2, where the scores are kept along with the candidates
// from one intersection to the next; those that score all lists at once keep the numbers
// of the postings instead, and read and write each sum once. §8.3 is exhaustive: an
// accumulator for each document of the segment, lists one after another. As a list has a
// document once, nothing needs to be atomic then; with all lists in one launch it does.
//
// # Trust
//
// Kernels check nothing: DocIDs lie below the length of Lengths and of the accumulators,
// postings below the list's, and payloads are valid, which their owner has verified on
// the host.
//
// # Concurrency
//
// Kernels is safe for concurrent use. Calls start work in a stream, do not wait for it,
// and allocate nothing; buffers must live until it is done.
package scoring
