package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// 8 values of w bits take w bytes; 4 values take w/2 bytes and at most 4 bits.
const group2 = 8

// avx2 writes the kernels for AVX2.
//
// VPSHUFB moves bytes only within 16 bytes. Both halves of a vector therefore load the
// bytes of their 4 values: the same 8 bytes up to a width of 8 bits, the same 16 bytes up
// to 16 bits, and 16 bytes each above that. No load reaches more than Slack bytes beyond
// the values.
//
// Up to 25 bits, VPSHUFB moves the 4 bytes of value i to lane i, and VPSRLVD shifts them by
// i*w mod 8. Above 25 bits, it moves 8 bytes: once for the even values, which VPSRLVQ
// shifts right, and once for the odd values, which VPSLLVQ shifts left.
func avx2() {
	table := table2()
	unpack2(table, false, "unpackAVX2",
		"unpackAVX2 writes 8*groups values of width bits, each plus add, to dst.")
	unpack2(table, true, "unpackGapsAVX2",
		"unpackGapsAVX2 writes the DocIDs after add, computed from 8*groups gaps minus one of width bits, to dst.")
	prefixSum2()
}

const row2 = 4 * 32

// table2 writes the table: a row of 4 vectors for each width. Up to mostNarrow bits: byte
// indices and shifts of each half. Above: indices and shifts for even values, then for odd
// ones.
func table2() Mem {
	t := GLOBL("table2", RODATA|NOPTR)
	for w := range maxWidth + 1 {
		// Start of value i within the bytes of its half.
		bit := func(i int) int {
			if w > 16 && i >= group2/2 {
				return i*w - group2/2*w/8*8
			}
			return i * w
		}
		at := row2 * w
		if w <= mostNarrow {
			data32(at, group2, func(i int) int { return 0x03020100 + 0x01010101*(bit(i)/8) })
			data32(at+32, group2, func(i int) int { return bit(i) % 8 })
			data32(at+64, 2*group2, func(int) int { return 0 })
			continue
		}
		for odd := range 2 {
			data64(at+64*odd, group2/2, func(pair int) uint64 { return 0x0706050403020100 + 0x0101010101010101*uint64(bit(2*pair+odd)/8) })
			data64(at+64*odd+32, group2/2, func(pair int) uint64 {
				shift := bit(2*pair+odd) % 8
				if odd == 1 {
					shift = 32 - shift
				}
				return uint64(shift)
			})
		}
	}
	return t
}

type unpacker2 struct {
	dst, src, stride, groups, upper  Register // upper: start of the upper half in a group
	mask, add                        VecVirtual
	index, shift, oddIndex, oddShift VecVirtual
	sums                             *sums2 // nil: no sums
}

func unpack2(table Mem, gaps bool, name, doc string) {
	TEXT(name, NOSPLIT, "func(dst *uint32, src *byte, add uint32, width uint8, groups int)")
	Doc(doc, "It reads at most groups*width+8 bytes at src; width is at most 32, groups at least 1.")
	Pragma("noescape")
	var u unpacker2
	u.dst, u.src, u.stride, u.groups = Load(Param("dst"), GP64()), Load(Param("src"), GP64()), GP64(), GP64()
	width := GP64()
	Load(Param("width"), width.As32())
	Load(Param("groups"), u.groups)
	MOVQ(width, u.stride)
	u.add, u.mask = YMM(), YMM()
	broadcast2("add", u.add)
	ones, mask, half := GP32(), GP32(), XMM()
	MOVL(I32(-1), ones)
	BZHIL(width.As32(), ones, mask)
	VMOVD(mask, half)
	VPBROADCASTD(half, u.mask)
	if gaps {
		u.sums = newSums2(u.add)
	}

	row, at := GP64(), GP64()
	IMUL3Q(Imm(row2), width, row)
	LEAQ(table, at)
	ADDQ(row, at)
	u.index, u.shift, u.oddIndex, u.oddShift = YMM(), YMM(), YMM(), YMM()
	for i, v := range []VecVirtual{u.index, u.shift, u.oddIndex, u.oddShift} {
		VMOVDQU(Mem{Base: at, Disp: 32 * i}, v)
	}
	u.upper = GP64()
	MOVQ(width, u.upper)
	SHRQ(Imm(1), u.upper)

	CMPQ(width, Imm(8))
	JBE(LabelRef("shared8"))
	CMPQ(width, Imm(16))
	JBE(LabelRef("shared16"))
	CMPQ(width, Imm(mostNarrow))
	JA(LabelRef("wide"))
	u.loop("own16", u.loadOwn16, u.extractNarrow)
	u.loop("shared8", u.loadShared8, u.extractNarrow)
	u.loop("shared16", u.loadShared16, u.extractNarrow)
	u.loop("wide", u.loadOwn16, u.extractWide)
}

func broadcast2(param string, v VecVirtual) {
	x := XMM()
	VMOVD(Load(Param(param), GP32()), x)
	VPBROADCASTD(x, v)
}

func (u *unpacker2) loadShared8() VecVirtual {
	v := YMM()
	VPBROADCASTQ(Mem{Base: u.src}, v)
	return v
}

func (u *unpacker2) loadShared16() VecVirtual {
	v := YMM()
	VBROADCASTI128(Mem{Base: u.src}, v)
	return v
}

func (u *unpacker2) loadOwn16() VecVirtual {
	v := YMM()
	VMOVDQU(Mem{Base: u.src}, v.AsX())
	VINSERTI128(Imm(1), Mem{Base: u.src, Index: u.upper, Scale: 1}, v, v)
	return v
}

func (u *unpacker2) extractNarrow(v VecVirtual) {
	VPSHUFB(u.index, v, v)
	VPSRLVD(u.shift, v, v)
}

func (u *unpacker2) extractWide(v VecVirtual) {
	odd := YMM()
	VPSHUFB(u.oddIndex, v, odd)
	VPSLLVQ(u.oddShift, odd, odd)
	VPSHUFB(u.index, v, v)
	VPSRLVQ(u.shift, v, v)
	VPBLENDD(Imm(0xaa), odd, v, v)
}

// For one method of loading and extracting, and the return after it.
func (u *unpacker2) loop(name string, load func() VecVirtual, extract func(VecVirtual)) {
	Label(name)
	v := load()
	ADDQ(u.stride, u.src)
	extract(v)
	VPAND(u.mask, v, v)
	if u.sums != nil {
		v = u.sums.group(v)
	} else {
		VPADDD(u.add, v, v)
	}
	VMOVDQU(v, Mem{Base: u.dst})
	ADDQ(Imm(4*group2), u.dst)
	DECQ(u.groups)
	JNZ(LabelRef(name))
	VZEROUPPER()
	RET()
}

type sums2 struct {
	carry VecVirtual // base plus the gaps of all earlier groups, in every lane
	last  VecVirtual // index of the last lane
	minus VecVirtual // -1, in every lane
}

func newSums2(base VecVirtual) *sums2 {
	s := &sums2{carry: base, last: YMM(), minus: YMM()}
	VPCMPEQD(s.minus, s.minus, s.minus)
	VPSRLD(Imm(29), s.minus, s.last) // 7
	return s
}

func (s *sums2) group(v VecVirtual) VecVirtual {
	t := YMM()
	VPSUBD(s.minus, v, v)
	VPSLLDQ(Imm(4), v, t)
	VPADDD(t, v, v)
	VPSLLDQ(Imm(8), v, t)
	VPADDD(t, v, v)
	VPSHUFD(Imm(0xff), v, t)
	VPERM2I128(Imm(0x08), t, t, t) // the sum of the lower half, for the upper
	VPADDD(t, v, v)
	out, total := YMM(), YMM()
	VPERMD(v, s.last, total)
	VPADDD(v, s.carry, out)
	VPADDD(total, s.carry, s.carry)
	return out
}

func prefixSum2() {
	TEXT("prefixSumAVX2", NOSPLIT, "func(dst *[128]uint32, base uint32)")
	Doc("prefixSumAVX2 converts 128 gaps minus one to DocIDs after base, in place.")
	Pragma("noescape")
	dst := Load(Param("dst"), GP64())
	base := YMM()
	broadcast2("base", base)
	s := newSums2(base)
	for g := range blockLen / group2 {
		at := Mem{Base: dst, Disp: 4 * group2 * g}
		v := YMM()
		VMOVDQU(at, v)
		VMOVDQU(s.group(v), at)
	}
	VZEROUPPER()
	RET()
}
