package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A group fills a vector. Every group of 16 values begins at a byte, so all share the
// same indices and shifts.
const group512 = 16

// Up to this width a value lies in 4 bytes, for any bit offset.
const mostNarrow = 25

// avx512 writes the kernels for AVX-512.
//
// Up to 25 bits: VPERMB moves the 4 bytes of value i to lane i, and VPSRLVD shifts them by
// i*w mod 8. Above: VPERMD moves the two words, and VPSHRDVD (VBMI2) shifts both together.
//
// Sums: NOT (v AND mask) is -(v+1), so one VPTERNLOGD masks, adds the 1 of a gap, and
// negates. Within a group, sums take 4 steps of moving and adding. The carry over groups is
// computed separately, so that a group depends on the previous one by only one subtraction.
func avx512() {
	t := writeTables512()
	unpack512(t, false, "unpackAVX512",
		"unpackAVX512 writes 128 values of width bits, each plus add, to dst.")
	unpack512(t, true, "unpackGapsAVX512",
		"unpackGapsAVX512 writes the DocIDs after add, computed from 128 gaps minus one of width bits, to dst.")
	unpackN512(t, false, "unpackNAVX512",
		"unpackNAVX512 writes 16*groups values of width bits, each plus add, to dst.")
	unpackN512(t, true, "unpackGapsNAVX512",
		"unpackGapsNAVX512 writes the DocIDs after add, computed from 16*groups gaps minus one of width bits, to dst.")
	prefixSum512(t)
}

func unpack512(t tables512, gaps bool, name, doc string) {
	TEXT(name, NOSPLIT, "func(dst *[128]uint32, src *byte, add uint32, width uint8)")
	Doc(doc, "It reads 16*width bytes at src; width is at most 32.")
	Pragma("noescape")
	width := GP64()
	if gaps {
		Load(Param("width"), width.As32())
		CMPQ(width, Imm(mostBytes))
		JBE(LabelRef("bytes"))
		CMPQ(width, Imm(mostWords))
		JBE(LabelRef("words"))
	}
	u, row := newUnpacker512(t, gaps)
	CMPQ(row, Imm(mostNarrow))
	JA(LabelRef("wide"))
	u.setRow(t.narrow, row, rowNarrow)
	u.groups(false)
	VZEROUPPER()
	RET()
	Label("wide")
	u.setRow(t.wide, row, rowWide)
	u.groups(true)
	VZEROUPPER()
	RET()
	if gaps {
		Label("bytes")
		gapsOfBytes(t.pairs, width)
		Label("words")
		gapsOfWords(t, width)
	}
}

func unpackN512(t tables512, gaps bool, name, doc string) {
	TEXT(name, NOSPLIT, "func(dst *[128]uint32, src *byte, add uint32, width uint8, size, groups int)")
	Doc(doc, "It reads size bytes at src; further bits count as 0. width is at most 32, groups 1 to 8.")
	Pragma("noescape")
	u, row := newUnpacker512(t, gaps)
	size, groups := Load(Param("size"), GP64()), Load(Param("groups"), GP64())
	CMPQ(row, Imm(mostNarrow))
	JA(LabelRef("wide"))
	u.setRow(t.narrow, row, rowNarrow)
	u.loop("narrowLoop", size, groups, false)
	Label("wide")
	u.setRow(t.wide, row, rowWide)
	u.loop("wideLoop", size, groups, true)
}

func newUnpacker512(t tables512, gaps bool) (u *unpacker512, width GPVirtual) {
	u = &unpacker512{}
	u.dst, u.src, u.stride = Load(Param("dst"), GP64()), Load(Param("src"), GP64()), GP64()
	Load(Param("width"), u.stride.(GPVirtual).As32())
	u.add = ZMM()
	VPBROADCASTD(Load(Param("add"), GP32()), u.add)

	ones, valid, mask := GP64(), GP64(), GP32()
	width = GP64()
	MOVQ(I32(-1), ones)
	BZHIL(u.stride.(GPVirtual).As32(), ones.As32(), mask)
	u.mask = ZMM()
	VPBROADCASTD(mask, u.mask)
	MOVQ(u.stride, width)
	ADDQ(u.stride, u.stride)
	BZHIQ(u.stride, ones, valid)
	u.valid = K()
	KMOVQ(valid, u.valid)
	if gaps {
		u.sums = newSums512(t, u.add)
	}
	return u, width
}

type unpacker512 struct {
	dst, src, stride   Register // stride: bytes of a group
	valid              Register // mask of the bytes of a group
	mask, add          VecVirtual
	index, high, shift VecVirtual
	sums               *sums512 // nil: no sums
}

const (
	rowNarrow = 2 * 64 // byte indices, shifts
	rowWide   = 3 * 64 // word indices, indices of the next words, shifts
)

// narrow and wide have a row for each width.
type tables512 struct {
	narrow, wide, third Mem
	pairs               tablesPairs
}

func writeTables512() (t tables512) {
	t.narrow = GLOBL("narrow512", RODATA|NOPTR)
	for w := range mostNarrow + 1 {
		data32(rowNarrow*w, group512, func(i int) int { return 0x03020100 + 0x01010101*(i*w/8) })
		data32(rowNarrow*w+64, group512, func(i int) int { return i * w % 8 })
	}
	t.wide = GLOBL("wide512", RODATA|NOPTR)
	for w := mostNarrow + 1; w <= maxWidth; w++ {
		at := rowWide * (w - mostNarrow - 1)
		data32(at, group512, func(i int) int { return i * w / 32 })
		data32(at+64, group512, func(i int) int { return (i*w/32 + 1) % 16 }) // at width 32, the next word and the shift are unused
		data32(at+128, group512, func(i int) int { return i * w % 32 })
	}
	t.third = GLOBL("third512", RODATA|NOPTR)
	data32(0, group512, func(i int) int { return i/8*8 + 3 })
	t.pairs = writeTablesPairs()
	return t
}

func (u *unpacker512) setRow(table Mem, width GPVirtual, size int) {
	if size == rowWide {
		SUBQ(Imm(mostNarrow+1), width)
	}
	at := GP64()
	IMUL3Q(Imm(uint64(size)), width, width)
	LEAQ(table, at)
	ADDQ(width, at)
	u.index, u.shift = ZMM(), ZMM()
	VMOVDQU64(Mem{Base: at}, u.index)
	if size == rowWide {
		u.high = ZMM()
		VMOVDQU64(Mem{Base: at, Disp: 64}, u.high)
	}
	VMOVDQU64(Mem{Base: at, Disp: size - 64}, u.shift)
}

// Of a full block.
func (u *unpacker512) groups(wide bool) {
	for g := range blockLen / group512 {
		v := u.group(wide)
		if g+1 < blockLen/group512 {
			ADDQ(u.stride, u.src)
		}
		VMOVDQU32(v, Mem{Base: u.dst, Disp: 4 * group512 * g})
	}
}

// Of a block that may be partial, and the return after it.
func (u *unpacker512) loop(name string, size, groups Register, wide bool) {
	ones, valid, take := GP64(), GP64(), GP64()
	MOVQ(I32(-1), ones)
	Label(name)
	MOVQ(u.stride, take)
	CMPQ(size, take)
	CMOVQLT(size, take)
	BZHIQ(take, ones, valid)
	KMOVQ(valid, u.valid)
	v := u.group(wide)
	ADDQ(u.stride, u.src)
	SUBQ(take, size)
	VMOVDQU32(v, Mem{Base: u.dst})
	ADDQ(Imm(4*group512), u.dst)
	DECQ(groups)
	JNZ(LabelRef(name))
	VZEROUPPER()
	RET()
}

func (u *unpacker512) group(wide bool) VecVirtual {
	v := ZMM()
	VMOVDQU8_Z(Mem{Base: u.src}, u.valid, v)
	if wide {
		high := ZMM()
		VPERMD(v, u.high, high)
		VPERMD(v, u.index, v)
		VPSHRDVD(u.shift, high, v)
	} else {
		VPERMB(v, u.index, v)
		VPSRLVD(u.shift, v, v)
	}
	if u.sums != nil {
		VPTERNLOGD(Imm(0x77), v, u.mask, v) // NOT (v AND mask)
		return u.sums.group(v)
	}
	VPANDD(u.mask, v, v)
	VPADDD(u.add, v, v)
	return v
}

type sums512 struct {
	carry        VecVirtual // base plus the gaps of all earlier groups, in every lane
	upper, top   Register   // lane masks of the third and the fourth step
	third, total VecVirtual // indices for the third step; index of the last lane
	fourth       VecVirtual
}

func newSums512(t tables512, base VecVirtual) *sums512 {
	s := &sums512{carry: base, upper: K(), top: K(), third: ZMM(), fourth: ZMM(), total: ZMM()}
	m := GP32()
	MOVL(U32(0xf0f0), m)
	KMOVW(m, s.upper)
	MOVL(U32(0xff00), m)
	KMOVW(m, s.top)
	for _, c := range []struct {
		v    VecVirtual
		lane uint64
	}{{s.fourth, 7}, {s.total, 15}} {
		MOVL(U32(c.lane), m)
		VPBROADCASTD(m, c.v)
	}
	VMOVDQU64(t.third, s.third)
	return s
}

// From negated gaps.
func (s *sums512) group(v VecVirtual) VecVirtual {
	t := ZMM()
	VPSLLDQ(Imm(4), v, t)
	VPADDD(t, v, v)
	VPSLLDQ(Imm(8), v, t)
	VPADDD(t, v, v)
	VPERMD_Z(v, s.third, s.upper, t)
	VPADDD(t, v, v)
	VPERMD_Z(v, s.fourth, s.top, t)
	VPADDD(t, v, v)
	out, total := ZMM(), ZMM()
	VPERMD(v, s.total, total)
	VPSUBD(v, s.carry, out)
	VPSUBD(total, s.carry, s.carry)
	return out
}

func prefixSum512(t tables512) {
	TEXT("prefixSumAVX512", NOSPLIT, "func(dst *[128]uint32, base uint32)")
	Doc("prefixSumAVX512 converts 128 gaps minus one to DocIDs after base, in place.")
	Pragma("noescape")
	dst := Load(Param("dst"), GP64())
	base := ZMM()
	VPBROADCASTD(Load(Param("base"), GP32()), base)
	s := newSums512(t, base)
	for g := range blockLen / group512 {
		at := Mem{Base: dst, Disp: 4 * group512 * g}
		v := ZMM()
		VMOVDQU32(at, v)
		VPTERNLOGD(Imm(0x0f), v, v, v) // NOT v: -(v+1)
		VMOVDQU32(s.group(v), at)
	}
	VZEROUPPER()
	RET()
}
