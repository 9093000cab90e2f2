// Package scoring holds the inner loops of query evaluation as kernels (see package simd).
//
//	Contributions    BM25 of a block: gather lengths, score, round
//	Match            finds documents in a block
//	Accumulate       adds contributions to a window's accumulators
//	Collect          returns a window's documents that reach a score, and resets it
//	Select           keeps the documents that reach a score
//	Intersect        keeps the documents of a set
//	Search           finds the position of a document in a block
//	Prefetch         begins to load bytes
//
// Scores have 32 bits; callers must prevent overflow (package traverse sums a query's bounds
// first).
//
// The assembly relies on each function's requirements and accesses nothing else.
package scoring

//go:generate go run -C ../../../tools/asm ./scoring -out ../../internal/simd/scoring/scoring_amd64.s -stubs ../../internal/simd/scoring/stubs_amd64.go -pkg scoring
//go:generate go -C ../../../tools/asm run ./neon scoring
