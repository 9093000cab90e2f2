// Package accumulate adds to arrays of accumulators, one for each document, and
// finds in them what reached a threshold: the inner loops of score-at-a-time
// search. Accumulators have 8, 16 or 32 bits; sums wrap around, so callers prove
// that they do not. An array's length is a multiple of Line.
//
//	Scatter   adds a value to the accumulators of some documents
//	Bitmap    adds a value to those of the documents whose bits are set
//	Drain     zeroes accumulators up to the first line that reached a threshold
//
// Functions have no state. They check bounds themselves: whatever the DocIDs and
// words are, nothing outside the slices is touched.
//
// Measured on one thread of a Zen 5 EPYC, on accumulators that lie in its caches
// (BenchmarkKernels): see docs/benchmarks/saat.md.
package accumulate

//go:generate go -C ../../../tools/asm run ./accumulate -out ../../internal/simd/accumulate/accumulate_amd64.s -stubs ../../internal/simd/accumulate/stubs_amd64.go -pkg accumulate
