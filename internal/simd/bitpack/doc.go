// Package bitpack packs blocks of Len values side by side with a fixed number of bits. It
// unpacks them as values or as DocIDs, which are running sums of gaps. Value i lies at bit
// i*width, least significant bit first, so Len values take 16*width bytes (PackedSize).
//
// The codecs of package codec use it. Functions have no state. They panic if a slice is too
// short and read nothing outside it; callers check sizes first.
package bitpack

//go:generate go run ./genunpack
//go:generate go -C ../../../tools/asm run ./bitpack -out ../../internal/simd/bitpack/bitpack_amd64.s -stubs ../../internal/simd/bitpack/stubs_amd64.go -pkg bitpack
