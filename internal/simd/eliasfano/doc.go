// Package eliasfano decodes blocks of Len values whose low bits lie in slots of a
// fixed width and whose high bits lie in unary code behind them: Elias-Fano
// codes, and Rice codes with their two parts apart. Codecs are made of it.
//
//	0                16*width                         end
//	+----------------+--------------------------------+-----
//	| low bits       | high bits, up to HighBytes     | ...
//	+----------------+--------------------------------+-----
//
// Finding the one bits of the unary part is the work. The reference, in Go,
// looks up each byte in a table of positions; so does AVX2. AVX-512 compresses
// the numbers 0 to 63 under a word of the unary part (VPCOMPRESSB), which gives
// all of its positions at once.
//
// Functions have no state. They read nothing outside of src and trust nothing in
// it: what they return as decoded is strictly rising.
package eliasfano
