// Package bitpack packs blocks of Len values side by side in a fixed number of
// bits, and unpacks them as fast as the processor can: as they are, or summed up
// as gaps. Value i lies at bit i*width, least significant bit first, so Len
// values take 16*width bytes (PackedSize).
//
// The codecs of package codec are made of it. Functions have no state. Callers
// check sizes: a slice that is too short panics, nothing is read outside it.
package bitpack

//go:generate go run ./genunpack
//go:generate go -C ../../../tools/asm run ./bitpack -out ../../internal/simd/bitpack/bitpack_amd64.s -stubs ../../internal/simd/bitpack/stubs_amd64.go -pkg bitpack
