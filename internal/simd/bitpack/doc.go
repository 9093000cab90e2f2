// Package bitpack packs blocks of Len values with a fixed number of bits: value i lies at bit
// i*width, least significant bit first. It unpacks them as values or as DocIDs, running sums of
// gaps.
//
// Functions panic if a slice is too short and read nothing outside it; callers check sizes
// first.
package bitpack

//go:generate go run ./genunpack
//go:generate go -C ../../../tools/asm run ./bitpack -out ../../internal/simd/bitpack/bitpack_amd64.s -stubs ../../internal/simd/bitpack/stubs_amd64.go -pkg bitpack
//go:generate go -C ../../../tools/asm run ./neon bitpack
