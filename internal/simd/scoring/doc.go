// Package scoring holds the inner loops of query evaluation as kernels. See package simd
// for levels.
//
//	Contributions    BM25 of a block: gather lengths, score, round
//	Match            finds documents in a block, with their positions
//	Accumulate       adds contributions to the accumulators of a window
//	Collect          returns the documents of a window that reach a score, and resets it
//	Select           keeps the documents that reach a score
//	Search           finds the position of a document in a block
//	Prefetch         begins to load bytes that will be decoded soon
//
// Scores have 32 bits here. Callers must prevent overflow of sums (package traverse adds up
// the bounds of a query's lists first).
//
// Functions have no state. Each states the requirements on its arguments. The assembly
// relies on them; it reads and writes nothing else.
package scoring

//go:generate go run -C ../../../tools/asm ./scoring -out ../../internal/simd/scoring/scoring_amd64.s -stubs ../../internal/simd/scoring/stubs_amd64.go -pkg scoring
