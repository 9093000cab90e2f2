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
	tally()
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

// tally reads values one by one. A value's bits are in the 8 bytes from its first one on.
func tally() {
	TEXT("tallyBMI2", NOSPLIT, "func(counts *uint32, numCounts uint64, d *[128]int64, src *byte, positions *uint16, n int) int")
	Doc("tallyBMI2 is Tally of n >= 1 positions. A Directory begins at d.")
	Pragma("noescape")
	counts, most := Load(Param("counts"), GP64()), Load(Param("numCounts"), GP64())
	d, src := Load(Param("d"), GP64()), Load(Param("src"), GP64())
	at, n := Load(Param("positions"), GP64()), Load(Param("n"), GP64())
	const spans, offsets = 8 * blockLen, 16 * blockLen
	done, width0 := GP64(), GP64()
	XORQ(done, done)
	MOVQ(U32(64), width0)
	Label("loop")
	i, block, width, bit, offset, value := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	MOVWQZX(Mem{Base: at, Index: done, Scale: 2}, i)
	MOVQ(i, block)
	SHRQ(Imm(7), block)
	ANDL(Imm(blockLen-1), i.As32())
	LZCNTQ(Mem{Base: d, Index: block, Scale: 8, Disp: spans}, bit)
	MOVQ(width0, width)
	SUBQ(bit, width)
	IMULQ(width, i)
	MOVL(Mem{Base: d, Index: block, Scale: 4, Disp: offsets}, offset.As32())
	MOVQ(i, bit)
	SHRQ(Imm(3), bit)
	ADDQ(src, offset)
	ANDL(Imm(7), i.As32())
	SHRXQ(i, Mem{Base: offset, Index: bit, Scale: 1}, value)
	BZHIQ(width, value, value)
	ADDQ(Mem{Base: d, Index: block, Scale: 8}, value)
	CMPQ(value, most)
	JAE(LabelRef("end"))
	INCL(Mem{Base: counts, Index: value, Scale: 4})
	INCQ(done)
	CMPQ(done, n)
	JB(LabelRef("loop"))
	Label("end")
	Store(done, ReturnIndex(0))
	RET()
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
