// Package accumulate adds to arrays of accumulators, one per document, of 8, 16 or 32 bits, and
// finds those that reached a threshold, for score-at-a-time search. Sums wrap around: callers
// must prevent overflow, and pass multiples of Line.
//
//	Scatter   adds a value for a list of documents
//	Bitmap    adds a value for the documents whose bits are set
//	Drain     zeroes accumulators up to the first line that reached a threshold
//
// Functions access nothing outside the slices, for any DocIDs and words.
//
// Measurements: docs/benchmarks/saat.md.
package accumulate

//go:generate go -C ../../../tools/asm run ./accumulate -out ../../internal/simd/accumulate/accumulate_amd64.s -stubs ../../internal/simd/accumulate/stubs_amd64.go -pkg accumulate
//go:generate go -C ../../../tools/asm run ./neon accumulate
