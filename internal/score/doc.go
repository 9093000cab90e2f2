// Package score computes BM25 contributions as fixed-point integers, and bounds to skip
// postings.
//
// Processors agree bit for bit: a contribution is a few float32 operations in a fixed order,
// each rounded as in IEEE 754 and not fused, then rounded once to an integer; sums are integer.
// Types are plain values, safe for concurrent use.
package score
