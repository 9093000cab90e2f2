// Package score computes BM25 contributions as fixed-point integers, and the bounds that
// traversals use to skip postings.
//
// Every processor computes bit-identical results. A contribution is a few float32
// operations in a fixed order, each rounded as in IEEE 754 and not fused, then rounded once
// to an integer. Sums of contributions are integer additions. All types are plain values,
// safe for concurrent use.
package score
