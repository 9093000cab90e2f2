package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const lanes2 = 8

type kernel2 struct {
	*kernel
	t    tables
	gaps bool
	base VecVirtual // addend of the values; for gaps, the DocID before them
	ones VecVirtual
	last VecVirtual // for gaps: index of the last lane
}

func decode2(t tables, gaps bool) {
	name, doc := "decodeAVX2", "decodeAVX2 writes n values, each plus add, to dst."
	if gaps {
		name, doc = "decodeGapsAVX2", "decodeGapsAVX2 writes the DocIDs after add, computed from n gaps minus one, to dst."
	}
	k := &kernel2{kernel: load(name, doc), t: t, gaps: gaps, base: YMM(), ones: YMM(), last: YMM()}
	half := XMM()
	VMOVD(Load(Param("add"), GP32()), half)
	VPBROADCASTD(half, k.base)
	VPCMPEQD(k.ones, k.ones, k.ones)
	VPSRLD(Imm(29), k.ones, k.last) // 7
	k.selectors(k.run)
	k.tail()
	k.end()
}

func (k *kernel2) run(n int, s selector) {
	mask := k.ones
	if s.words > 0 && s.bits < 32 {
		mask = YMM()
		VPSRLD(Imm(uint64(32-s.bits)), k.ones, mask)
	}
	k.loop(n, s, func() {
		switch {
		case s.words == 0:
			v := YMM()
			VPXOR(v, v, v)
			k.put(v, 0, s.count)
		case s.bits == 32:
			v := YMM()
			VMOVDQU(Mem{Base: k.src}, v.AsX())
			k.noteWide(v)
			k.put(v, 0, s.count)
		default:
			k.unpack(n, s, mask)
		}
	})
}

// Sets wide if some of the first 4 lanes of v have more than 24 bits.
func (k *kernel2) noteWide(v VecVirtual) {
	high, found := YMM(), GP64()
	VPSLLD(Imm(safe), k.ones, high)
	XORQ(found, found)
	VPTEST(high.AsX(), v.AsX())
	SETNE(found.As8())
	ORQ(found, k.wide)
}

func (k *kernel2) unpack(n int, s selector, mask VecVirtual) {
	var words [2]VecVirtual
	for w := range s.words {
		words[w] = YMM()
		VBROADCASTI128(Mem{Base: k.src, Disp: wordSize * w}, words[w])
	}
	for step := range s.steps(lanes2) {
		var v VecVirtual
		for i, x := range s.shifts(step*lanes2/4, lanes2/4) {
			part, word := YMM(), words[0]
			if x.second {
				word = words[1]
			}
			counts := k.t.shifts.Offset(k.t.at[[3]int{n, step, i}])
			if x.left {
				VPSLLVD(counts, word, part)
			} else {
				VPSRLVD(counts, word, part)
			}
			if i > 0 {
				VPOR(v, part, part)
			}
			v = part
		}
		VPAND(mask, v, v)
		k.put(v, step*lanes2, min(lanes2, s.count-step*lanes2))
	}
}

// Finishes the first lanes of v and stores them at index at after out.
func (k *kernel2) put(v VecVirtual, at, lanes int) {
	v = k.finish(v, lanes)
	to := Mem{Base: k.out, Disp: 4 * at}
	if lanes == 4 {
		VMOVDQU(v.AsX(), to)
		return
	}
	VMOVDQU(v, to)
}

// Adds base to the first lanes of v, or sums gaps up as in package bitpack.
func (k *kernel2) finish(v VecVirtual, lanes int) VecVirtual {
	if !k.gaps {
		VPADDD(k.base, v, v)
		return v
	}
	t, total, out := YMM(), YMM(), YMM()
	VPSUBD(k.ones, v, v)
	VPSLLDQ(Imm(4), v, t)
	VPADDD(t, v, v)
	VPSLLDQ(Imm(8), v, t)
	VPADDD(t, v, v)
	VPSHUFD(Imm(0xff), v, total)
	if lanes == 4 {
		VPERM2I128(Imm(0x00), total, total, total)
	} else {
		VPERM2I128(Imm(0x08), total, total, t)
		VPADDD(t, v, v)
		VPERMD(v, k.last, total)
	}
	VPADDD(v, k.base, out)
	VPADDD(total, k.base, k.base)
	return out
}

// For each value, the 32-bit word in which it begins, shifted right, and the next word,
// shifted left. Fails with a different number unless a whole word follows src.
func (k *kernel2) tail() {
	width, size := k.kernel.tail()
	whole := GP64()
	LEAQ(Mem{Base: k.avail, Index: size, Scale: 1}, whole)
	CMPQ(whole, Imm(wordSize))
	JLT(LabelRef("short"))
	bytes, mask, bit, stride, one, most, half := YMM(), YMM(), YMM(), YMM(), YMM(), YMM(), XMM()
	VMOVDQU(Mem{Base: k.src}, bytes.AsX())
	ADDQ(size, k.src)
	minus, low32 := GP32(), GP32()
	MOVL(I32(-1), minus)
	BZHIL(width.As32(), minus, low32)
	VMOVD(low32, half)
	VPBROADCASTD(half, mask)
	VMOVD(width.As32(), half)
	VPBROADCASTD(half, stride)
	VPMULLD(k.t.iota, stride, bit)
	VPSLLD(Imm(3), stride, stride)
	VPSRLD(Imm(31), k.ones, one)
	VPSRLD(Imm(27), k.ones, most) // 31
	Label("tailGroup")
	low, high, by, back := YMM(), YMM(), YMM(), YMM()
	VPSRLD(Imm(5), bit, low)
	VPADDD(one, low, high)
	VPERMD(bytes, low, low)
	VPERMD(bytes, high, high)
	VPAND(most, bit, by)
	VPSUBD(by, most, back)
	VPADDD(one, back, back)
	VPSRLVD(by, low, low)
	VPSLLVD(back, high, high)
	VPOR(high, low, low)
	VPAND(mask, low, low)
	VPADDD(stride, bit, bit)
	v := k.finish(low, lanes2)
	CMPQ(k.left, Imm(lanes2))
	JLT(LabelRef("lastValues"))
	VMOVDQU(v, Mem{Base: k.out})
	ADDQ(Imm(4*lanes2), k.out)
	SUBQ(Imm(lanes2), k.left)
	JNE(LabelRef("tailGroup"))
	JMP(LabelRef("end"))
	k.lastValues(v)
	Label("short")
	code := GP64()
	MOVQ(I32(-2), code)
	Store(code, Return("sizeAndWide"))
	VZEROUPPER()
	RET()
}

// The last values of a tail, fewer than a vector, through the stack.
func (k *kernel2) lastValues(v VecVirtual) {
	Label("lastValues")
	buffer := AllocLocal(4 * lanes2)
	VMOVDQU(v, buffer)
	value := GP32()
	in := GP64()
	LEAQ(buffer, in)
	Label("value")
	MOVL(Mem{Base: in}, value)
	MOVL(value, Mem{Base: k.out})
	ADDQ(Imm(4), in)
	ADDQ(Imm(4), k.out)
	DECQ(k.left)
	JNE(LabelRef("value"))
	JMP(LabelRef("end"))
}
