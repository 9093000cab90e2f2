// Package scoring holds the inner loops of query evaluation as kernels: the
// contributions of a block of postings, the postings of a block that are among
// some documents, and the accumulators and candidates that scores are gathered
// in. See package simd for levels.
//
//	Contributions    BM25 of a block: gather lengths, score, round
//	Match            which of some documents are in a block, and where
//	Accumulate       add contributions to the accumulators of a window
//	Collect          the documents of a window with enough, and set them to 0
//	Select           those of some documents that have enough
//	Search           where a document is, or would be, in a block
//	Prefetch         begin to load bytes that will be decoded soon
//
// Scores are 32 bits wide here: callers make sure that no sum passes that
// (package traverse adds up the bounds of a query's lists before).
//
// Functions have no state. What they need of their arguments is said at each;
// the assembly relies on it and is exact about it: nothing else is read or
// written.
package scoring

//go:generate go run -C ../../../tools/asm ./scoring -out ../../internal/simd/scoring/scoring_amd64.s -stubs ../../internal/simd/scoring/stubs_amd64.go -pkg scoring
