package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	lanes2 = 8
	row2   = 2 * 32 // byte indices, shifts
)

// tables2 writes the tables. VPSHUFB moves bytes only within 16 bytes, so each half of a
// vector is loaded separately. The upper half begins width/2 bytes later, up to half a
// byte.
func tables2() (t tables) {
	t.slots = table32("slots2", slots(lanes2, func(i, w int) int { return i%4*w + i/4*(4*w%8) }))
	t.iota8 = table8("bytes2", count[byte](blockLen+8))
	t.iota32 = table32("words2", count[uint32](lanes2))
	ones := make([]byte, 8*256)
	for b := range 256 {
		n := 0
		for bit := range 8 {
			if b>>bit&1 == 1 {
				ones[8*b+n] = byte(bit)
				n++
			}
		}
	}
	t.ones = table8("ones2", ones)
	others := []uint32{0, 1, 1, 1, 1, 1, 1, 1}
	for i := range others {
		others[i] = -others[i]
	}
	t.first = table32("others2", others)
	return t
}

// In the second phase.
type combiner2 struct {
	kernel
	tables
	dst, src, width, half, bits Register
	index, shift, mask          VecVirtual
	count                       VecVirtual // 128 bits: the shift of high parts
	add, step                   VecVirtual
	before, falls               VecVirtual
	last                        VecVirtual
	vectorsDone                 int
}

func avx2(k kernel, t tables) {
	dst, src, width, base := k.begin("AVX2")
	bits := GP64()
	LEAQ(AllocLocal(64*highWords+16), bits)
	k.find2(t, src, width, bits)

	c := &combiner2{kernel: k, tables: t, dst: dst, src: src, width: width, half: GP64(), bits: bits}
	at := row(t.slots, width, row2)
	c.index, c.shift, c.mask, c.count = YMM(), YMM(), YMM(), XMM()
	VMOVDQU(Mem{Base: at}, c.index)
	VMOVDQU(Mem{Base: at, Disp: 32}, c.shift)
	ones, mask := GP32(), GP32()
	MOVL(I32(-1), ones)
	BZHIL(width.(GPVirtual).As32(), ones, mask)
	spread2(mask, c.mask)
	VMOVQ(width, c.count)
	MOVQ(width, c.half)
	SHRQ(Imm(1), c.half)
	c.constants(base)
	for range blockLen / lanes2 {
		c.vector()
	}
	if !k.rice || !k.freqs { // frequencies of Rice codes are unordered
		VPTEST(c.falls, c.falls)
		JNZ(LabelRef("none"))
	}
	high := GP64()
	MOVBQZX(Mem{Base: bits, Disp: blockLen - 1}, high)
	SUBQ(U32(blockLen-1), high)
	MOVBQZX(high.As8(), high)
	ADDQ(U32(blockLen), high)
	end(high, true)
}

// Writes the bit index of each end, modulo 256, to memory: byte by byte, from a table.
func (k kernel) find2(t tables, src, width, bits Register) {
	unary, ones, count := GP64(), GP64(), GP64()
	MOVQ(width, unary)
	SHLQ(Imm(4), unary)
	ADDQ(src, unary)
	LEAQ(t.ones, ones)
	XORQ(count, count)
	eight, offset := XMM(), XMM()
	c, r := XMM(), GP64()
	MOVQ(U64(0x0808080808080808), r)
	VMOVQ(r, eight)
	VPXOR(offset, offset, offset)
	for w := range highWords {
		word := GP64()
		MOVQ(Mem{Base: unary, Disp: 8 * w}, word)
		if k.rice {
			NOTQ(word)
		}
		if w == highWords-1 {
			BTRQ(Imm(63), word)
		}
		for b := range 8 {
			x := GP64()
			MOVBQZX(word.As8(), x)
			if b < 7 {
				SHRQ(Imm(8), word)
			}
			VMOVQ(Mem{Base: ones, Index: x, Scale: 8}, c)
			VPADDB(offset, c, c)
			VMOVQ(c, Mem{Base: bits, Index: count, Scale: 1})
			VPADDB(eight, offset, offset)
			POPCNTQ(x, x)
			ADDQ(x, count)
		}
	}
	CMPQ(count, U32(blockLen))
	JB(LabelRef("none"))
}

func spread2(r Register, v VecVirtual) {
	x := XMM()
	VMOVD(r, x)
	VPBROADCASTD(x, v)
}

// combiner512.constants for AVX2.
func (c *combiner2) constants(base Register) {
	c.add, c.step, c.before, c.falls = YMM(), YMM(), YMM(), YMM()
	VPXOR(c.before, c.before, c.before)
	VPXOR(c.falls, c.falls, c.falls)
	one := GP32()
	MOVL(U32(1), one)
	spread2(one, c.add)
	if c.rice {
		if !c.freqs {
			c.last = YMM()
			MOVL(U32(lanes2-1), one)
			spread2(one, c.last)
			spread2(base, c.step)
		}
		return
	}
	VPADDD(c.iota32, c.add, c.add)
	if !c.freqs {
		b := YMM()
		spread2(base, b)
		VPADDD(b, c.add, c.add)
	}
	MOVL(U32(lanes2), one)
	spread2(one, c.step)
}

func (c *combiner2) vector() {
	at := lanes2 * c.vectorsDone
	low, high := YMM(), YMM()
	VBROADCASTI128(Mem{Base: c.src}, low)
	VINSERTI128(Imm(1), Mem{Base: c.src, Index: c.half, Scale: 1}, low, low)
	ADDQ(c.width, c.src)
	VPSHUFB(c.index, low, low)
	VPSRLVD(c.shift, low, low)
	VPAND(c.mask, low, low)
	numbers := XMM()
	VMOVQ(Mem{Base: c.bits, Disp: at}, numbers)
	less := XMM()
	VMOVQ(c.iota8.Offset(at), less)
	VPSUBB(less, numbers, numbers)
	VPMOVZXBD(numbers, high)
	out := high
	switch {
	case c.rice && c.freqs:
		out = c.moved(high)
		VPSUBD(out, high, out)
		c.before = high
		VPSLLD(c.count, out, out)
		VPOR(low, out, out)
		VPADDD(c.add, out, out)
	case c.rice:
		VPSLLD(c.count, high, high)
		VPADDD(c.add, low, low)
		sum2(low)
		VPADDD(c.step, low, low)
		VPADDD(low, high, high)
		VPERMD(low, c.last, c.step)
		c.check(high)
	default:
		VPSLLD(c.count, high, high)
		VPOR(low, high, high)
		VPADDD(c.add, high, high)
		VPADDD(c.step, c.add, c.add)
		moved := c.check(high)
		if c.freqs {
			out = moved
			VPSUBD(moved, high, out)
		}
	}
	VMOVDQU(out, Mem{Base: c.dst, Disp: 4 * at})
	c.vectorsDone++
}

// v moved up by one lane, with the last lane of the previous vector first.
func (c *combiner2) moved(v VecVirtual) VecVirtual {
	out := YMM()
	VPERM2I128(Imm(0x21), v, c.before, out) // the previous upper half and the lower half of v
	VPALIGNR(Imm(12), out, v, out)
	return out
}

// check is combiner512.check for AVX2. Values do not increase where the unsigned maximum of
// both is the previous value.
func (c *combiner2) check(v VecVirtual) (moved VecVirtual) {
	moved = c.moved(v)
	c.before = v
	falls := YMM()
	VPMAXUD(v, moved, falls)
	VPCMPEQD(falls, moved, falls)
	if c.vectorsDone == 0 && !c.freqs {
		VPAND(c.first, falls, falls)
	}
	VPOR(falls, c.falls, c.falls)
	return moved
}

func sum2(v VecVirtual) {
	t := YMM()
	VPSLLDQ(Imm(4), v, t)
	VPADDD(t, v, v)
	VPSLLDQ(Imm(8), v, t)
	VPADDD(t, v, v)
	VPSHUFD(Imm(0xff), v, t)
	VPERM2I128(Imm(0x08), t, t, t) // zero, and the sum of the lower half
	VPADDD(t, v, v)
}
