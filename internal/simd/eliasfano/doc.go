// Package eliasfano decodes blocks of Len values whose low bits lie in slots of a
// fixed width and whose high bits lie in unary code behind them: Elias-Fano
// codes, and Rice codes with their two parts apart. Codecs are made of it.
//
//	0                16*width                         end
//	+----------------+--------------------------------+-----
//	| low bits       | high bits, up to HighBytes     | ...
//	+----------------+--------------------------------+-----
//
// Finding the one bits of the unary part is the work. The reference, in Go, takes
// them one after another. AVX2 looks up each byte in a table of bit numbers (the table
// is as fast on processors whose PDEP is slow). AVX-512 compresses the numbers 0 to 63
// under a word of the unary part (VPCOMPRESSB), which gives all of its bit numbers
// at once.
//
// Functions have no state. They read nothing outside of src and trust nothing in
// it: what they return as decoded is strictly rising.
package eliasfano

//go:generate go -C ../../../tools/asm run ./eliasfano -out ../../internal/simd/eliasfano/eliasfano_amd64.s -stubs ../../internal/simd/eliasfano/stubs_amd64.go -pkg eliasfano
