// Package score computes BM25 contributions as fixed-point integers, and the
// bounds that let a traversal skip what cannot reach the result.
//
// Every processor computes the same bits: a contribution is a handful of
// float32 operations in a fixed order, each rounded as IEEE 754 says and none
// fused, then rounded once to an integer. After that there is only integer
// addition. All types are plain values, safe for concurrent use.
package score
