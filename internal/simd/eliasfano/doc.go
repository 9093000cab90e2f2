// Package eliasfano decodes blocks of Len values with low bits in slots of a fixed width,
// followed by the high bits in unary: Elias-Fano and Rice codes.
//
//	0                16*width                         end
//	+----------------+--------------------------------+-----
//	| low bits       | high bits, up to HighBytes     | ...
//	+----------------+--------------------------------+-----
//
// Most work is finding the one bits of the unary part. AVX2 looks up each byte in a table of
// bit indexes, also fast on processors with a slow PDEP. AVX-512 compresses the numbers 0 to 63
// under a word of it (VPCOMPRESSB), which gives all bit indexes at once.
//
// Functions accept arbitrary bytes and read nothing outside src. Decoded DocIDs are strictly
// increasing.
package eliasfano

//go:generate go -C ../../../tools/asm run ./eliasfano -out ../../internal/simd/eliasfano/eliasfano_amd64.s -stubs ../../internal/simd/eliasfano/stubs_amd64.go -pkg eliasfano
