// Package accumulate adds to arrays of accumulators, one for each document, and finds those
// that reached a threshold: the inner loops of score-at-a-time search. Accumulators have 8,
// 16 or 32 bits. Sums wrap around; callers must prevent overflow. The length of an array is
// a multiple of Line.
//
//	Scatter   adds a value to the accumulators of a list of documents
//	Bitmap    adds a value to the accumulators of the documents whose bits are set
//	Drain     zeroes accumulators up to the first line that reached a threshold
//
// Functions have no state. They check bounds: for any DocIDs and words, they access nothing
// outside the slices.
//
// docs/benchmarks/saat.md has measurements (BenchmarkKernels on one thread of a Zen 5 EPYC,
// with accumulators in its caches).
package accumulate

//go:generate go -C ../../../tools/asm run ./accumulate -out ../../internal/simd/accumulate/accumulate_amd64.s -stubs ../../internal/simd/accumulate/stubs_amd64.go -pkg accumulate
