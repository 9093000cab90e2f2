package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// 16 documents at a time, the last ones under a mask. The outputs have room, because a step stores at most the number
// of documents that it has read.
func intersectAVX512(iota16 operand.Mem) {
	build.TEXT("intersectAVX512", build.NOSPLIT, "func(to *uint32, of *uint8, docIDs *uint32, n int, set *uint64, bits uint32) int")
	build.Doc("intersectAVX512 looks up n >= 1 DocIDs, at most 128, in a set of at least 64 bits.")
	to, of, docIDs, set := loadPointer("to"), loadPointer("of"), loadPointer("docIDs"), loadPointer("set")
	n := build.Load(build.Param("n"), build.GP64())
	number, bits, one, step, index := build.ZMM(), build.ZMM(), build.ZMM(), build.ZMM(), build.ZMM()
	spread(n.(reg.GPVirtual).As32(), number)
	spreadParam("bits", bits)
	broadcast(1, one)
	broadcast(16, step)
	build.VMOVDQU32(iota16, index)
	i, kept := build.GP64(), build.GP64()
	build.XORQ(i, i)
	build.XORQ(kept, kept)

	build.Label("loop")
	d, word, mask := build.ZMM(), build.ZMM(), build.K()
	build.VPCMPUD(operand.Imm(lessThan), number, index, mask)
	build.VMOVDQU32_Z(at(docIDs, i, 4), mask, d)
	build.VPCMPUD(operand.Imm(lessThan), bits, d, mask, mask)
	some := build.K()
	build.KMOVW(mask, some)
	where := build.ZMM()
	build.VPSRLD(operand.Imm(5), d, where)
	build.VPXORD(word, word, word)
	build.VPGATHERDD(operand.Mem{Base: set, Index: where, Scale: 4}, some, word)
	build.VPRORVD(d, word, word)
	build.VPTESTMD(one, word, mask, mask)
	build.VPCOMPRESSD_Z(d, mask, d)
	at16 := build.ZMM()
	build.VPCOMPRESSD_Z(index, mask, at16)
	count := build.GP32()
	build.KMOVW(mask, count)
	build.POPCNTL(count, count)
	build.VMOVDQU32(d, at(to, kept, 4))
	build.VPMOVDB(at16, at(of, kept, 1))
	build.ADDQ(count.As64(), kept)
	build.VPADDD(step, index, index)
	build.ADDQ(operand.Imm(16), i)
	build.CMPQ(i, n)
	build.JLT(operand.LabelRef("loop"))
	build.VZEROUPPER()
	build.Store(kept, build.ReturnIndex(0))
	build.RET()
}
