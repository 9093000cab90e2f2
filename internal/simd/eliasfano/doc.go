// Package eliasfano decodes blocks of Len values whose low bits lie in slots of a fixed
// width, followed by the high bits in unary code: Elias-Fano codes, and Rice codes with
// separate parts. Package codec uses it.
//
//	0                16*width                         end
//	+----------------+--------------------------------+-----
//	| low bits       | high bits, up to HighBytes     | ...
//	+----------------+--------------------------------+-----
//
// Most of the work is finding the one bits of the unary part. The Go reference takes them
// one after another. AVX2 looks up each byte in a table of bit indexes (the table is also
// fast on processors with a slow PDEP). AVX-512 compresses the numbers 0 to 63 under a word
// of the unary part (VPCOMPRESSB), which gives all of its bit indexes at once.
//
// Functions have no state. They accept arbitrary bytes and read nothing outside src.
// Decoded DocIDs are strictly increasing.
package eliasfano

//go:generate go -C ../../../tools/asm run ./eliasfano -out ../../internal/simd/eliasfano/eliasfano_amd64.s -stubs ../../internal/simd/eliasfano/stubs_amd64.go -pkg eliasfano
