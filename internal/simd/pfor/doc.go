// Package pfor decodes blocks of PForDelta: it unpacks the slots (package
// bitpack), follows the linked list of exceptions through them, and puts the
// exceptions in their places. In the same pass it sums up gaps, so that patched
// slots need not be written and read again. Assembly for that is there for AVX-512,
// which has an instruction that expands values into the lanes of a mask; with AVX2 the
// slots are unpacked and summed up by vectors, and exceptions are put in one by one.
//
// Functions have no state. Callers check sizes: a slice that is too short
// panics, nothing is read outside it. Lists may be anything: one that leads out of
// the block is told.
package pfor

//go:generate go -C ../../../tools/asm run ./pfor -out ../../internal/simd/pfor/pfor_amd64.s -stubs ../../internal/simd/pfor/stubs_amd64.go -pkg pfor
