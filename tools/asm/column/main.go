// Command column writes the assembly of internal/simd/column.
//
// The AVX-512 kernels load through masks and read nothing beyond the values; the AVX2 kernels
// read at most Slack more bytes.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// As in package column.
const (
	blockLen = 128
	maxWidth = 64
)

func main() {
	ConstraintExpr("amd64,!noasm")
	avx512()
	avx2()
	moves()
	Generate()
}

// moves writes the kernels of single words.
func moves() {
	for _, k := range []struct {
		name, doc string
		move      func(mask, bits, out Register)
	}{
		{"depositBMI2", "depositBMI2 is Deposit.", func(mask, bits, out Register) { PDEPQ(mask, bits, out) }},
		{"extractBMI2", "extractBMI2 is Extract.", func(mask, bits, out Register) { PEXTQ(mask, bits, out) }},
	} {
		TEXT(k.name, NOSPLIT, "func(word, set uint64) uint64")
		Doc(k.doc)
		word, set := Load(Param("word"), GP64()), Load(Param("set"), GP64())
		k.move(set, word, word)
		Store(word, ReturnIndex(0))
		RET()
	}
}

// A vector of bytes, of words of 32 bits, of words of 64 bits.
func data8(at int, value func(i int) int) {
	for i := range 64 {
		DATA(at+i, U8(value(i)))
	}
}

func data32(at int, value func(i int) int) {
	for i := range 16 {
		DATA(at+4*i, U32(value(i)))
	}
}

func data64(at int, value func(i int) int) {
	for i := range 8 {
		DATA(at+8*i, U64(value(i)))
	}
}
