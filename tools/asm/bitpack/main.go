// Command bitpack writes the assembly of internal/simd/bitpack.
//
// Every kernel reads only the bytes that its contract allows: the AVX-512 kernels load
// through masks and read nothing beyond the values; the AVX2 kernels read at most Slack
// more bytes.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// As in package bitpack.
const blockLen = 128

const maxWidth = 32

func main() {
	ConstraintExpr("amd64,!noasm")
	avx512()
	avx2()
	Generate()
}

func data32(at, n int, value func(i int) int) {
	for i := range n {
		DATA(at+4*i, U32(value(i)))
	}
}

func data64(at, n int, value func(i int) uint64) {
	for i := range n {
		DATA(at+8*i, U64(value(i)))
	}
}
