// Package pfor decodes blocks of PForDelta: it unpacks the slots (package bitpack), follows
// the linked list of exceptions and patches the exceptions into their slots. AVX-512
// patches and sums up gaps in one pass, because it has an instruction that expands values
// into the lanes of a mask. With AVX2, vectors unpack the slots and sum them up; exceptions
// are patched one by one.
//
// Functions have no state. They panic if a slice is too short, and read nothing outside it;
// callers check sizes first. A list of exceptions may have any content: functions report
// one that leaves the block.
package pfor

//go:generate go -C ../../../tools/asm run ./pfor -out ../../internal/simd/pfor/pfor_amd64.s -stubs ../../internal/simd/pfor/stubs_amd64.go -pkg pfor
