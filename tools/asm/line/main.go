// Command line writes the assembly of internal/simd/line.
//
// The line is kept in 64-bit lanes, whose upper halves are the result. AVX-512 extracts
// them with VPSRLQ and VPMOVQD, AVX2 with one shuffle of two vectors whose lanes are
// arranged to give the right order.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const blockLen = 128

func main() {
	ConstraintExpr("amd64,!noasm")
	add512()
	add2()
	Generate()
}

func begin(name string) (dst, start, slope Register) {
	TEXT(name, NOSPLIT, "func(dst *[128]uint32, start, slope uint64) bool")
	Doc(name + " is AddTail for a whole block.")
	Pragma("noescape")
	return Load(Param("dst"), GP64()), Load(Param("start"), GP64()), Load(Param("slope"), GP64())
}

// start plus k times slope for each k, in memory.
func multiples(start, slope Register, ks ...int) Mem {
	at := AllocLocal(8 * len(ks))
	for i, k := range ks {
		x := GP64()
		IMUL3Q(Imm(uint64(k)), slope, x)
		ADDQ(start, x)
		MOVQ(x, at.Offset(8*i))
	}
	return at
}

func add512() {
	dst, start, slope := begin("addAVX512")
	at := multiples(start, slope, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	a, b, step := ZMM(), ZMM(), ZMM()
	VMOVDQU64(at, a)
	VMOVDQU64(at.Offset(64), b)
	SHLQ(Imm(4), slope)
	VPBROADCASTQ(slope, step)
	before, falls, m := ZMM(), GP32(), GP32()
	XORL(falls, falls)
	for g := range blockLen / 16 {
		high, low, v := ZMM(), ZMM(), ZMM()
		VPSRLQ(Imm(32), a, low)
		VPSRLQ(Imm(32), b, high)
		VPMOVQD(low, low.AsY())
		VPMOVQD(high, high.AsY())
		VINSERTI64X4(Imm(1), high.AsY(), low, v)
		VPADDD(Mem{Base: dst, Disp: 64 * g}, v, v)
		VMOVDQU64(v, Mem{Base: dst, Disp: 64 * g})
		shifted, k := ZMM(), K()
		if g == 0 {
			VALIGND(Imm(15), v, v, shifted) // lane 0 has no predecessor
		} else {
			VALIGND(Imm(15), before, v, shifted)
		}
		VPCMPUD(Imm(2), shifted, v, k) // at most the previous value
		KMOVW(k, m)
		if g == 0 {
			ANDL(U32(0xfffe), m)
		}
		ORL(m, falls)
		VMOVDQA64(v, before)
		if g+1 < blockLen/16 {
			VPADDQ(step, a, a)
			VPADDQ(step, b, b)
		}
	}
	end(falls)
}

func add2() {
	dst, start, slope := begin("addAVX2")
	at := multiples(start, slope, 0, 1, 4, 5, 2, 3, 6, 7)
	a, b, step, x := YMM(), YMM(), YMM(), XMM()
	VMOVDQU(at, a)
	VMOVDQU(at.Offset(32), b)
	SHLQ(Imm(3), slope)
	VMOVQ(slope, x)
	VPBROADCASTQ(x, step)
	for g := range blockLen / 8 {
		v := YMM()
		VSHUFPS(Imm(0xdd), b, a, v)
		VPADDD(Mem{Base: dst, Disp: 32 * g}, v, v)
		VMOVDQU(v, Mem{Base: dst, Disp: 32 * g})
		if g+1 < blockLen/8 {
			VPADDQ(step, a, a)
			VPADDQ(step, b, b)
		}
	}
	falls, bits := YMM(), GP32()
	VPXOR(falls, falls, falls)
	for g := range blockLen / 8 {
		from := min(8*g+1, blockLen-8) // the last vector overlaps
		v, most := YMM(), YMM()
		before := YMM()
		VMOVDQU(Mem{Base: dst, Disp: 4 * (from - 1)}, before)
		VMOVDQU(Mem{Base: dst, Disp: 4 * from}, v)
		VPMAXUD(v, before, most)
		VPCMPEQD(most, before, most) // at most the previous value
		VPOR(most, falls, falls)
	}
	VMOVMSKPS(falls, bits)
	end(bits)
}

func end(falls Register) {
	rising := GP8()
	TESTL(falls, falls)
	SETEQ(rising)
	Store(rising, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
