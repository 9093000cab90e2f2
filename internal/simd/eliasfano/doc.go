// Package eliasfano decodes blocks of Elias-Fano and Rice codes: Len values with low bits in
// slots, then high bits in unary.
//
//	0                16*width                         end
//	+----------------+--------------------------------+-----
//	| low bits       | high bits, up to HighBytes     | ...
//	+----------------+--------------------------------+-----
//
// Most work is finding the unary part's one bits. AVX2 looks up bytes in a table of bit
// indexes, fast also with a slow PDEP. AVX-512 compresses the numbers 0 to 63 under a word
// (VPCOMPRESSB), all bit indexes at once.
//
// Functions accept arbitrary bytes and read nothing outside src. Decoded DocIDs are strictly
// increasing.
package eliasfano

//go:generate go -C ../../../tools/asm run ./eliasfano -out ../../internal/simd/eliasfano/eliasfano_amd64.s -stubs ../../internal/simd/eliasfano/stubs_amd64.go -pkg eliasfano
