package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	lanes512 = 16
	row512   = 2 * 64 // byte indices, shifts
	atLeast  = 5      // predicate of VPCMPUD
)

type tables struct {
	slots  Mem // a row for each width: the location of the low bits of a vector's values
	iota8  Mem // bytes 0, 1, 2, …
	iota32 Mem // words 0, 1, 2, …
	ones   Mem // AVX2: for each byte the indexes of its one bits
	first  Mem // AVX2: a word with all bits, and words with none
}

func tables512() (t tables) {
	t.slots = table32("slots512", slots(lanes512, func(i, w int) int { return i * w }))
	t.iota8 = table8("bytes512", count[byte](64))
	t.iota32 = table32("words512", count[uint32](lanes512))
	return t
}

// In the second phase.
type combiner512 struct {
	kernel
	dst, src, stride, highs Register
	index, shift, mask      VecVirtual // of low bits
	width                   VecVirtual // 128 bits: the shift of high parts
	add, step               VecVirtual // base + 1 + i, or its equivalent; 16
	before                  VecVirtual // result of the previous vector
	zero, last              VecVirtual // zero words; index of the last lane
	falls                   Register   // mask: a value does not increase
	vectorsDone             int
}

func avx512(k kernel, t tables) {
	dst, src, width, base := k.begin("AVX512")
	highs := GP64()
	LEAQ(AllocLocal(64*highWords+64), highs)
	k.find512(t, src, width, highs)

	c := &combiner512{kernel: k, dst: dst, src: src, stride: GP64(), highs: highs, falls: K()}
	at := row(t.slots, width, row512)
	c.index, c.shift, c.mask, c.width = ZMM(), ZMM(), ZMM(), XMM()
	VMOVDQU64(Mem{Base: at}, c.index)
	VMOVDQU64(Mem{Base: at, Disp: 64}, c.shift)
	ones, mask := GP32(), GP32()
	MOVL(I32(-1), ones)
	BZHIL(width.(GPVirtual).As32(), ones, mask)
	VPBROADCASTD(mask, c.mask)
	VMOVQ(width, c.width)
	LEAQ(Mem{Base: width, Index: width, Scale: 1}, c.stride)
	c.constants(t, base)
	KXORW(c.falls, c.falls, c.falls)
	for range blockLen / lanes512 {
		c.vector()
	}
	if !k.rice || !k.freqs { // frequencies of Rice codes are unordered
		KORTESTW(c.falls, c.falls)
		JNZ(LabelRef("none"))
	}
	bits := GP64()
	MOVBQZX(Mem{Base: highs, Disp: blockLen - 1}, bits)
	ADDQ(U32(blockLen), bits)
	end(bits, true)
}

// find512 writes the high part of each value to memory. It compresses the bit indexes 0 to
// 63 under a word of the unary part, which leaves the indexes of the ends. Subtracting the
// end's number gives the number of zero bits before it.
func (k kernel) find512(t tables, src, width, highs Register) {
	unary := GP64()
	MOVQ(width, unary)
	SHLQ(Imm(4), unary)
	ADDQ(src, unary)
	numbers := ZMM()
	VMOVDQU64(t.iota8, numbers)
	count, offset := GP64(), GP32()
	for w := range highWords {
		word := GP64()
		MOVQ(Mem{Base: unary, Disp: 8 * w}, word)
		if k.rice {
			NOTQ(word)
		}
		if w == highWords-1 {
			BTRQ(Imm(63), word)
		}
		ends, v := K(), ZMM()
		KMOVQ(word, ends)
		VPCOMPRESSB_Z(numbers, ends, v)
		VPSUBB(numbers, v, v)
		if w == 0 {
			VMOVDQU64(v, Mem{Base: highs})
			POPCNTQ(word, count)
			continue
		}
		more := ZMM()
		MOVL(U32(64*w), offset)
		SUBL(count.As32(), offset)
		VPBROADCASTB(offset, more)
		VPADDB(more, v, v)
		VMOVDQU64(v, Mem{Base: highs, Index: count, Scale: 1})
		POPCNTQ(word, word)
		ADDQ(word, count)
	}
	CMPQ(count, U32(blockLen))
	JB(LabelRef("none"))
}

// The addends of the first vector and the state before it.
func (c *combiner512) constants(t tables, base Register) {
	c.add, c.step, c.before = ZMM(), ZMM(), ZMM()
	VPXORD(c.before, c.before, c.before)
	one := GP32()
	MOVL(U32(1), one)
	VPBROADCASTD(one, c.add)
	if c.rice {
		if !c.freqs {
			c.zero, c.last = ZMM(), ZMM()
			VPXORD(c.zero, c.zero, c.zero)
			MOVL(U32(lanes512-1), one)
			VPBROADCASTD(one, c.last)
			c.step = ZMM() // the base and all gaps of earlier vectors
			VPBROADCASTD(base, c.step)
		}
		return
	}
	VPADDD(t.iota32, c.add, c.add)
	if !c.freqs {
		b := ZMM()
		VPBROADCASTD(base, b)
		VPADDD(b, c.add, c.add)
	}
	MOVL(U32(lanes512), one)
	VPBROADCASTD(one, c.step)
}

func (c *combiner512) vector() {
	at := 4 * lanes512 * c.vectorsDone
	low, high := ZMM(), ZMM()
	VMOVDQU64(Mem{Base: c.src}, low)
	ADDQ(c.stride, c.src)
	VPERMB(low, c.index, low)
	VPSRLVD(c.shift, low, low)
	VPMOVZXBD(Mem{Base: c.highs, Disp: lanes512 * c.vectorsDone}, high)
	out := high
	switch {
	case c.rice && c.freqs:
		out = c.moved(high)
		VPSUBD(out, high, out)
		c.before = high
		VPSLLD(c.width, out, out)
		VPTERNLOGD(Imm(0xf8), c.mask, low, out) // out OR (low AND mask)
		VPADDD(c.add, out, out)
	case c.rice:
		VPSLLD(c.width, high, high)
		VPANDD(c.mask, low, low)
		VPADDD(c.add, low, low)
		c.sum(low)
		VPADDD(c.step, low, low)
		VPADDD(low, high, high)
		VPERMD(low, c.last, c.step)
		c.check(high)
	default:
		VPSLLD(c.width, high, high)
		VPTERNLOGD(Imm(0xf8), c.mask, low, high)
		VPADDD(c.add, high, high)
		VPADDD(c.step, c.add, c.add)
		moved := c.check(high)
		if c.freqs {
			out = moved
			VPSUBD(moved, high, out)
		}
	}
	VMOVDQU32(out, Mem{Base: c.dst, Disp: at})
	c.vectorsDone++
}

// v moved up by one lane, with the last lane of the previous vector first.
func (c *combiner512) moved(v VecVirtual) VecVirtual {
	out := ZMM()
	VALIGND(Imm(lanes512-1), c.before, v, out)
	return out
}

// check records whether a value is not above the previous one. The caller checks the first
// DocID of a block; running sums of frequencies begin above 0.
func (c *combiner512) check(v VecVirtual) (moved VecVirtual) {
	moved = c.moved(v)
	c.before = v
	falls := K()
	if c.vectorsDone == 0 && !c.freqs {
		others, m := K(), GP32()
		MOVL(U32(0xfffe), m)
		KMOVW(m, others)
		VPCMPUD(Imm(atLeast), v, moved, others, falls)
	} else {
		VPCMPUD(Imm(atLeast), v, moved, falls)
	}
	KORW(falls, c.falls, c.falls)
	return moved
}

func (c *combiner512) sum(v VecVirtual) {
	for by := 1; by < lanes512; by *= 2 {
		moved := ZMM()
		VALIGND(Imm(uint64(lanes512-by)), c.zero, v, moved)
		VPADDD(moved, v, v)
	}
}
