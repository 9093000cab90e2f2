// Package pfor decodes blocks of PForDelta: unpacks slots (package bitpack), follows the linked
// list of exceptions and patches them in. AVX-512 patches and sums gaps in one pass, because it
// can expand values into a mask's lanes; AVX2 patches one by one.
//
// Functions panic if a slice is too short, and read nothing outside it; callers check sizes
// first. A list of exceptions that leaves the block is reported.
package pfor

//go:generate go -C ../../../tools/asm run ./pfor -out ../../internal/simd/pfor/pfor_amd64.s -stubs ../../internal/simd/pfor/stubs_amd64.go -pkg pfor
