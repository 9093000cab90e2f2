package main

import (
	"math"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const contributionsSignature = "func(dst, docIDs, freqs, lengths *uint32, n int, weight, c0, c1 float32)"

// 16 postings at a time, the last ones under a mask.
func contributionsAVX512(linear bool) {
	build.TEXT(linearName("contributionsAVX512", linear), build.NOSPLIT, contributionsSignature)
	build.Doc(linearName("contributionsAVX512", linear) + " scores n >= 1 postings, 16 at a time.")
	dst, freqs := loadPointer("dst"), loadPointer("freqs")
	docIDs, lengths := reg.Register(nil), reg.Register(nil)
	weight, c0, c1 := build.ZMM(), build.ZMM(), build.ZMM()
	spreadFloat("weight", weight)
	if !linear {
		docIDs, lengths = loadPointer("docIDs"), loadPointer("lengths")
		spreadFloat("c0", c0)
		spreadFloat("c1", c1)
	}
	round := build.ZMM()
	broadcast(half, round)
	n := build.Load(build.Param("n"), build.GP64())
	i := build.GP64()
	build.XORQ(i, i)
	mask := build.K()
	build.KXNORW(mask, mask, mask)

	body := func() {
		f := build.ZMM()
		build.VMOVDQU32_Z(at(freqs, i, 4), mask, f)
		build.VCVTUDQ2PS(f, f)
		s := build.ZMM()
		build.VMULPS(f, weight, s)
		if !linear {
			d, l, gather := build.ZMM(), build.ZMM(), build.K()
			build.VMOVDQU32_Z(at(docIDs, i, 4), mask, d)
			build.VPXORD(l, l, l)
			build.KMOVW(mask, gather)
			build.VPGATHERDD(at(lengths, d, 4), gather, l)
			build.VCVTUDQ2PS(l, l)
			build.VMULPS(l, c1, l)
			build.VADDPS(l, c0, l)
			build.VADDPS(l, f, l)
			build.VDIVPS(l, s, s)
		}
		build.VADDPS(round, s, s)
		build.VCVTTPS2UDQ(s, s)
		build.VMOVDQU32(s, mask, at(dst, i, 4))
		build.ADDQ(operand.Imm(16), i)
	}
	build.Label("loop")
	left := build.GP64()
	build.MOVQ(n, left)
	build.SUBQ(i, left)
	build.CMPQ(left, operand.Imm(16))
	build.JLT(operand.LabelRef("tail"))
	body()
	build.JMP(operand.LabelRef("loop"))
	build.Label("tail")
	build.TESTQ(left, left)
	build.JZ(operand.LabelRef("done"))
	tailMask(mask, left)
	body()
	build.Label("done")
	build.VZEROUPPER()
	build.RET()
}

// The lowest n bits, n below 32.
func tailMask(mask reg.OpmaskVirtual, n reg.GPVirtual) {
	bits := build.GP32()
	build.MOVL(operand.U32(0xffffffff), bits)
	build.BZHIL(n.As32(), bits, bits)
	build.KMOVW(bits, mask)
}

// n postings, a multiple of 8.
func contributionsAVX2(linear bool) {
	build.TEXT(linearName("contributionsAVX2", linear), build.NOSPLIT, contributionsSignature)
	build.Doc(linearName("contributionsAVX2", linear) + " scores n postings, a multiple of 8 and at least 8.")
	dst, freqs := loadPointer("dst"), loadPointer("freqs")
	docIDs, lengths := reg.Register(nil), reg.Register(nil)
	weight, c0, c1 := build.YMM(), build.YMM(), build.YMM()
	spreadFloat("weight", weight)
	if !linear {
		docIDs, lengths = loadPointer("docIDs"), loadPointer("lengths")
		spreadFloat("c0", c0)
		spreadFloat("c1", c1)
	}
	round := build.YMM()
	broadcast(half, round)
	two31, two16 := build.YMM(), build.YMM()
	broadcast(math.Float32bits(1<<31), two31)
	broadcast(math.Float32bits(1<<16), two16)
	n := build.Load(build.Param("n"), build.GP64())
	i := build.GP64()
	build.XORQ(i, i)

	// toFloat converts unsigned numbers. The halves are exact; only their sum is rounded.
	toFloat := func(v reg.VecVirtual) {
		high := build.YMM()
		build.VPSRLD(operand.Imm(16), v, high)
		build.VPSLLD(operand.Imm(16), v, v)
		build.VPSRLD(operand.Imm(16), v, v)
		build.VCVTDQ2PS(high, high)
		build.VCVTDQ2PS(v, v)
		build.VMULPS(two16, high, high)
		build.VADDPS(high, v, v)
	}

	build.Label("loop")
	f, s := build.YMM(), build.YMM()
	build.VMOVDQU(at(freqs, i, 4), f)
	toFloat(f)
	build.VMULPS(f, weight, s)
	if !linear {
		l := insert8(func(j int) operand.Mem {
			d := build.GP64()
			build.MOVL(at(docIDs, i, 4).Offset(4*j), d.As32())
			return at(lengths, d, 4)
		})
		toFloat(l)
		build.VMULPS(l, c1, l)
		build.VADDPS(l, c0, l)
		build.VADDPS(l, f, l)
		build.VDIVPS(l, s, s)
	}
	build.VADDPS(round, s, s)
	// Numbers of 2^31 and more are converted minus 2^31, which is exact.
	large, less := build.YMM(), build.YMM()
	build.VCMPPS(operand.Imm(0x1d /* not less, quiet: s >= two31 */), two31, s, large)
	build.VANDPS(two31, large, less)
	build.VSUBPS(less, s, s)
	build.VCVTTPS2DQ(s, s)
	build.VPSLLD(operand.Imm(31), large, large)
	build.VPXOR(large, s, s)
	build.VMOVDQU(s, at(dst, i, 4))
	build.ADDQ(operand.Imm(8), i)
	build.CMPQ(i, n)
	build.JLT(operand.LabelRef("loop"))
	build.VZEROUPPER()
	build.RET()
}
