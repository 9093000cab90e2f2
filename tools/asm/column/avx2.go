package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Up to 32 bits, package bitpack unpacks, and a second kernel widens or compares. Above, a group
// of 8 values of w bits takes w bytes: the 8 bytes from value i's first on are shifted to its bit.
// From 58 bits on, a value can have bits in a ninth byte, so the 8 bytes from the second on are
// shifted too.
func avx2() {
	widen2()
	range2of32()
	range2of64()
	unpack2()
}

func widen2() {
	TEXT("widenAVX2", NOSPLIT, "func(dst *[128]int64, src *[128]uint32, add int64)")
	Doc("widenAVX2 writes 128 values, each plus add, to dst.")
	Pragma("noescape")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	add := broadcast2("add")
	for i := range blockLen / 4 {
		v := YMM()
		VPMOVZXDQ(Mem{Base: src, Disp: 16 * i}, v)
		VPADDQ(add, v, v)
		VMOVDQU(v, Mem{Base: dst, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}

func broadcast2(param string) VecVirtual {
	v, x := YMM(), XMM()
	VMOVQ(Load(Param(param), GP64()), x)
	VPBROADCASTQ(x, v)
	return v
}

// A value is at most span if it is the lesser of both.
func range2of32() {
	TEXT("range32AVX2", NOSPLIT, "func(set *[2]uint64, values *[128]uint32, lo, span uint32)")
	Doc("range32AVX2 sets the bits of the values from lo to lo+span.")
	Pragma("noescape")
	set, values := Load(Param("set"), GP64()), Load(Param("values"), GP64())
	lo, span := YMM(), YMM()
	for _, c := range []struct {
		name string
		v    VecVirtual
	}{{"lo", lo}, {"span", span}} {
		x := XMM()
		VMOVD(Load(Param(c.name), GP32()), x)
		VPBROADCASTD(x, c.v)
	}
	for i := range blockLen / 8 {
		v, least, bits := YMM(), YMM(), GP32()
		VMOVDQU(Mem{Base: values, Disp: 32 * i}, v)
		VPSUBD(lo, v, v)
		VPMINUD(span, v, least)
		VPCMPEQD(least, v, v)
		VMOVMSKPS(v, bits)
		MOVB(bits.As8(), Mem{Base: set, Disp: i})
	}
	VZEROUPPER()
	RET()
}

// Numbers without a sign are compared with their highest bits flipped.
func range2of64() {
	TEXT("range64AVX2", NOSPLIT, "func(set *[2]uint64, values *[128]int64, span uint64)")
	Doc("range64AVX2 sets the bits of the values from 0 to span.")
	Pragma("noescape")
	set, values := Load(Param("set"), GP64()), Load(Param("values"), GP64())
	span, sign := broadcast2("span"), YMM()
	VPCMPEQQ(sign, sign, sign)
	VPSLLQ(Imm(63), sign, sign)
	VPXOR(sign, span, span)
	for i := range blockLen / 8 {
		var halves [2]GPVirtual
		for h := range halves {
			v := YMM()
			halves[h] = GP32()
			VPXOR(Mem{Base: values, Disp: 64*i + 32*h}, sign, v)
			VPCMPGTQ(span, v, v) // outside
			VMOVMSKPD(v, halves[h])
		}
		SHLL(Imm(4), halves[1])
		ORL(halves[1], halves[0])
		NOTL(halves[0])
		MOVB(halves[0].As8(), Mem{Base: set, Disp: i})
	}
	VZEROUPPER()
	RET()
}

func unpack2() {
	const groupLen = 8
	TEXT("unpackLongAVX2", NOSPLIT, "func(dst *[128]int64, src *byte, add int64, width uint8)")
	Doc("unpackLongAVX2 writes 128 values of 33 to 64 bits, each plus add, to dst.", "It reads 16*width+8 bytes at src.")
	Pragma("noescape")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	width := GP64()
	Load(Param("width"), width.As32())
	add := broadcast2("add")
	ones, mask := GP64(), YMM()
	MOVQ(I32(-1), ones)
	BZHIQ(width, ones, ones)
	x := XMM()
	VMOVQ(ones, x)
	VPBROADCASTQ(x, mask)

	right, left := shifts2(width)
	var offsets [groupLen]Register // offsets[0] is 0
	for i := 1; i < groupLen; i++ {
		r := GP64()
		IMUL3Q(Imm(uint64(i)), width, r)
		SHRQ(Imm(3), r)
		offsets[i] = r
	}
	groups := GP64()
	MOVL(U32(blockLen/groupLen), groups.As32())
	load := func(h, disp int) VecVirtual {
		at := func(i int) Mem {
			if i == 0 {
				return Mem{Base: src, Disp: disp}
			}
			return Mem{Base: src, Index: offsets[i], Scale: 1, Disp: disp}
		}
		v, low, high := YMM(), XMM(), XMM()
		VMOVQ(at(4*h), low)
		VPINSRQ(Imm(1), at(4*h+1), low, low)
		VMOVQ(at(4*h+2), high)
		VPINSRQ(Imm(1), at(4*h+3), high, high)
		VINSERTI128(Imm(1), high, low.AsY(), v)
		return v
	}
	CMPQ(width, Imm(57))
	JA(LabelRef("nine"))
	for _, loop := range []string{"eight", "nine"} {
		Label(loop)
		for h := range 2 {
			v := load(h, 0)
			VPSRLVQ(right[h], v, v)
			if loop == "nine" {
				second := load(h, 1)
				VPSLLVQ(left[h], second, second)
				VPOR(second, v, v)
			}
			VPAND(mask, v, v)
			VPADDQ(add, v, v)
			VMOVDQU(v, Mem{Base: dst, Disp: 32 * h})
		}
		ADDQ(width, src)
		ADDQ(Imm(8*groupLen), dst)
		DECQ(groups)
		JNZ(LabelRef(loop))
		VZEROUPPER()
		RET()
	}
}

// shifts2 returns, for 8 values, the bit of a value in its first byte, and of its second byte in the
// value.
func shifts2(width Register) (right, left [2]VecVirtual) {
	numbers := GLOBL("numbers2", RODATA|NOPTR)
	data64(0, func(i int) int { return i })
	x := XMM()
	seven, eight, widths := YMM(), YMM(), YMM()
	VMOVQ(width, x)
	VPBROADCASTQ(x, widths)
	VPCMPEQQ(seven, seven, seven)
	VPSRLQ(Imm(61), seven, seven)
	VPCMPEQQ(eight, eight, eight)
	VPSRLQ(Imm(63), eight, eight)
	VPSLLQ(Imm(3), eight, eight)
	for h := range right {
		right[h], left[h] = YMM(), YMM()
		VPMULUDQ(numbers.Offset(32*h), widths, right[h])
		VPAND(seven, right[h], right[h])
		VPSUBQ(right[h], eight, left[h])
	}
	return right, left
}
