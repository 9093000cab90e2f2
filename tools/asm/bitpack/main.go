// Command bitpack writes the assembly of internal/simd/bitpack.
//
// Every kernel keeps to the bytes that its contract names: the AVX-512 ones load
// through masks and need none behind the values, the AVX2 ones load at most
// Slack bytes more.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Values of a block, as in package bitpack.
const blockLen = 128

const maxWidth = 32

func main() {
	ConstraintExpr("amd64,!noasm")
	avx512()
	avx2()
	Generate()
}

// data32 adds n values of 32 bits to the table that is being written, at an offset
// behind all that are there.
func data32(at, n int, value func(i int) int) {
	for i := range n {
		DATA(at+4*i, U32(value(i)))
	}
}

// data64 is data32 for values of 64 bits.
func data64(at, n int, value func(i int) uint64) {
	for i := range n {
		DATA(at+8*i, U64(value(i)))
	}
}
