package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const lanes512 = 16

type kernel512 struct {
	*kernel
	t     tables
	gaps  bool
	base  VecVirtual // addend of the values; for gaps, the DocID before them
	ones  VecVirtual
	three Register // mask of the first 12 lanes

	// For gaps, see finish.
	upper, top Register
	third      VecVirtual
	last       map[int]VecVirtual // by number of lanes: index of the last lane
}

func decode512(t tables, gaps bool) {
	name, doc := "decodeAVX512", "decodeAVX512 writes n values, each plus add, to dst."
	if gaps {
		name, doc = "decodeGapsAVX512", "decodeGapsAVX512 writes the DocIDs after add, computed from n gaps minus one, to dst."
	}
	k := &kernel512{kernel: load(name, doc), t: t, gaps: gaps, base: ZMM(), ones: ZMM()}
	VPBROADCASTD(Load(Param("add"), GP32()), k.base)
	VPTERNLOGD(Imm(0xff), k.ones, k.ones, k.ones)
	k.three = mask512(0x0fff)
	if gaps {
		k.upper, k.top = mask512(0xf0f0), mask512(0xff00)
		k.third = ZMM()
		VMOVDQU64(t.third, k.third)
		k.last = map[int]VecVirtual{}
		for _, lanes := range []int{4, 8, 12, 16} {
			k.last[lanes] = ZMM()
			last := GP32()
			MOVL(U32(lanes-1), last)
			VPBROADCASTD(last, k.last[lanes])
		}
	}
	k.selectors(k.run)
	k.tail()
	k.end()
}

func mask512(lanes uint32) Register {
	m, k := GP32(), K()
	MOVL(U32(lanes), m)
	KMOVW(m, k)
	return k
}

func (k *kernel512) run(n int, s selector) {
	if s.words == 0 {
		k.loop(n, s, func() {
			v := ZMM()
			VPXORD(v, v, v)
			k.put(v, k.ones, 0, s.count)
		})
		return
	}
	mask := k.ones
	if s.bits < 32 {
		mask = ZMM()
		VPSRLD(Imm(uint64(32-s.bits)), k.ones, mask)
	}
	if times := s.several(); times > 1 {
		few := label("few", n)
		Label(label("several", n))
		CMPQ(k.times, Imm(uint64(times)))
		JLT(LabelRef(few))
		k.gather(n, s, times, mask)
		k.advance(s, times)
		SUBQ(Imm(uint64(times)), k.times)
		JMP(LabelRef(label("several", n)))
		Label(few)
		TESTQ(k.times, k.times)
		JEQ(LabelRef("next"))
	}
	k.loop(n, s, func() {
		if s.words == 2 {
			k.gather(n, s, 1, mask)
			return
		}
		k.unpack(n, s, mask)
	})
}

// The words of times applications of a selector.
func (k *kernel512) gather(n int, s selector, times int, mask VecVirtual) {
	words := ZMM()
	switch times * s.words * wordSize {
	case 64:
		VMOVDQU64(Mem{Base: k.src}, words)
	case 32:
		VMOVDQU(Mem{Base: k.src}, words.AsY())
	}
	if s.bits > safe {
		k.noteWide(words)
	}
	b := k.t.batches[[2]int{n, times}]
	for step := range b.steps {
		v := words
		if s.bits < 32 {
			index, shift := ZMM(), ZMM()
			v = ZMM()
			VMOVDQU64(k.t.gathers.Offset(b.at+rowGather*step), index)
			VPERMB(words, index, v)
			if s.bits%8 != 0 {
				VMOVDQU64(k.t.gathers.Offset(b.at+rowGather*step+64), shift)
				VPSRLVD(shift, v, v)
			}
		}
		k.put(v, mask, step*lanes512, min(lanes512, times*s.count-step*lanes512))
	}
}

// Sets wide if some lane of v has more than 24 bits.
func (k *kernel512) noteWide(v VecVirtual) {
	high, found, lanes := ZMM(), K(), GP64()
	VPSLLD(Imm(safe), k.ones, high)
	VPTESTMD(high, v, found)
	KMOVW(found, lanes.As32())
	ORQ(lanes, k.wide)
}

func (k *kernel512) unpack(n int, s selector, mask VecVirtual) {
	word := ZMM()
	VBROADCASTI32X4(Mem{Base: k.src}, word)
	if s.bits > safe {
		k.noteWide(word)
	}
	for step := range s.steps(lanes512) {
		v := ZMM()
		VMOVDQU32(k.t.shifts.Offset(k.t.at[[3]int{n, step, 0}]), v)
		VPSRLVD(v, word, v)
		k.put(v, mask, step*lanes512, min(lanes512, s.count-step*lanes512))
	}
}

// Finishes the first lanes of v and stores them under a mask at index at after out.
func (k *kernel512) put(v, mask VecVirtual, at, lanes int) {
	v = k.finish(v, mask, lanes)
	to := Mem{Base: k.out, Disp: 4 * at}
	switch lanes {
	case 4:
		VMOVDQU(v.AsX(), to)
	case 8:
		VMOVDQU(v.AsY(), to)
	case 12:
		VMOVDQU32(v, k.three, to)
	default:
		VMOVDQU32(v, to)
	}
}

// Adds base to the first lanes of v, or sums gaps up as in package bitpack: NOT (v AND
// mask) is -(v+1), and the carry into base is computed separately from the sums. A group
// of 8 lanes needs one step less, a group of 4 two.
func (k *kernel512) finish(v, mask VecVirtual, lanes int) VecVirtual {
	if !k.gaps {
		VPANDD(mask, v, v)
		VPADDD(k.base, v, v)
		return v
	}
	VPTERNLOGD(Imm(0x77), v, mask, v)
	t := ZMM()
	VPSLLDQ(Imm(4), v, t)
	VPADDD(t, v, v)
	VPSLLDQ(Imm(8), v, t)
	VPADDD(t, v, v)
	if lanes > 4 {
		VPERMD_Z(v, k.third, k.upper, t)
		VPADDD(t, v, v)
	}
	if lanes > 8 {
		VPERMD_Z(v, k.last[8], k.top, t)
		VPADDD(t, v, v)
	}
	out, total := ZMM(), ZMM()
	VPERMD(v, k.last[lanes], total)
	VPSUBD(v, k.base, out)
	VPSUBD(total, k.base, k.base)
	return out
}

// For each value, the 32-bit word in which it begins and the next word, shifted together
// (VPSHRDVD takes the shift modulo 32).
func (k *kernel512) tail() {
	width, size := k.kernel.tail()
	ones, at := GP64(), GP64()
	valid := K()
	MOVQ(I32(-1), ones)
	BZHIQ(size, ones, at)
	KMOVQ(at, valid)
	bytes, mask, bit, stride := ZMM(), ZMM(), ZMM(), ZMM()
	VMOVDQU8_Z(Mem{Base: k.src}, valid, bytes)
	ADDQ(size, k.src)
	BZHIL(width.As32(), ones.As32(), at.As32())
	VPBROADCASTD(at.As32(), mask)
	VPBROADCASTD(width.As32(), stride)
	VPMULLD(k.t.iota, stride, bit)
	VPSLLD(Imm(4), stride, stride)
	Label("tailGroup")
	low, high := ZMM(), ZMM()
	VPSRLD(Imm(5), bit, low)
	VPSUBD(k.ones, low, high)
	VPERMD(bytes, low, low)
	VPERMD(bytes, high, high)
	VPSHRDVD(bit, high, low)
	v := k.finish(low, mask, lanes512)
	BZHIL(k.left.(GPVirtual).As32(), ones.As32(), at.As32())
	KMOVW(at.As32(), valid)
	VMOVDQU32(v, valid, Mem{Base: k.out})
	VPADDD(stride, bit, bit)
	ADDQ(Imm(64), k.out)
	SUBQ(Imm(16), k.left)
	JGT(LabelRef("tailGroup"))
}
