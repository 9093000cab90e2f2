// Command pfor writes the assembly of internal/simd/pfor.
//
// A kernel follows the list of exceptions through the slots and marks the exceptions. Each
// step of this walk has the latency of a load and an addition; all other work overlaps with
// it. The marks of 16 slots then become a mask register, by which VPEXPANDD moves the next
// exception values to their slots. The values are loaded through a mask too, so that no
// byte beyond them is read.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	blockLen = 128
	group    = 16 // slots of a vector
)

func main() {
	ConstraintExpr("amd64,!noasm")
	third := GLOBL("third", RODATA|NOPTR)
	for i := range group {
		DATA(4*i, U32(i/8*8+3))
	}
	for _, size := range []int{1, 2, 4} {
		patch(size)
	}
	for _, size := range []int{1, 2, 4} {
		patchGaps(size, third)
	}
	Generate()
}

var names = map[int]string{1: "8", 2: "16", 4: "32"}

func patch(size int) {
	name := "patch" + names[size] + "AVX512"
	TEXT(name, NOSPLIT, "func(dst *[128]uint32, values *byte, first, count, slots int) bool")
	Doc(name+" writes count values of "+names[size]+" bits, each plus 1, to the slots of a list.",
		"dst holds slots plus 1. It returns false, with dst unchanged, if the list leaves the slots.")
	Pragma("noescape")
	p := newPatcher(size)
	for g := range blockLen / group {
		VMOVDQU32(p.group(g), p.at(g))
	}
	p.done()
}

func patchGaps(size int, thirdTable Mem) {
	name := "patchGaps" + names[size] + "AVX512"
	TEXT(name, NOSPLIT, "func(dst *[128]uint32, values *byte, first, count, slots int, base uint32) bool")
	Doc(name + " is patch" + names[size] + "AVX512, and then converts the gaps in dst to DocIDs after base.")
	Pragma("noescape")
	p := newPatcher(size)
	carry := ZMM()
	VPBROADCASTD(Load(Param("base"), GP32()), carry)
	upper, top, m := K(), K(), GP32()
	MOVL(U32(0xf0f0), m)
	KMOVW(m, upper)
	MOVL(U32(0xff00), m)
	KMOVW(m, top)
	third, fourth, last := ZMM(), ZMM(), ZMM()
	VMOVDQU64(thirdTable, third)
	MOVL(U32(7), m)
	VPBROADCASTD(m, fourth)
	MOVL(U32(group-1), m)
	VPBROADCASTD(m, last)
	for g := range blockLen / group {
		v, t := p.group(g), ZMM()
		// Sums of 2, 4, 8 and 16 gaps.
		VPSLLDQ(Imm(4), v, t)
		VPADDD(t, v, v)
		VPSLLDQ(Imm(8), v, t)
		VPADDD(t, v, v)
		VPERMD_Z(v, third, upper, t)
		VPADDD(t, v, v)
		VPERMD_Z(v, fourth, top, t)
		VPADDD(t, v, v)
		out, total := ZMM(), ZMM()
		VPADDD(v, carry, out)
		VMOVDQU32(out, p.at(g))
		if g+1 < blockLen/group {
			VPERMD(v, last, total)
			VPADDD(total, carry, carry)
		}
	}
	p.done()
}

type patcher struct {
	dst, values Register
	marks       [2]GPVirtual
	all         Register // all bits set
	ones        VecVirtual
	size        int
}

func newPatcher(size int) *patcher {
	p := &patcher{
		size: size, dst: Load(Param("dst"), GP64()), values: Load(Param("values"), GP64()),
		all: GP64(), ones: ZMM(), marks: [2]GPVirtual{GP64(), GP64()},
	}
	at, count, slots := Load(Param("first"), GP64()), Load(Param("count"), GP64()), Load(Param("slots"), GP64())
	MOVQ(I32(-1), p.all)
	VPTERNLOGD(Imm(0xff), p.ones, p.ones, p.ones)
	XORL(p.marks[0].As32(), p.marks[0].As32())
	XORL(p.marks[1].As32(), p.marks[1].As32())
	one := GP64()
	MOVQ(U32(1), one)
	mark, second, low, step := GP64(), GP64(), GP64(), GP64()
	Label("walk")
	CMPQ(at, slots)
	JAE(LabelRef("corrupt"))
	SHLXQ(at, one, mark) // modulo 64
	MOVQ(at, second)
	SHRQ(Imm(6), second)
	NEGQ(second) // all bits set from slot 64 on
	ANDNQ(mark, second, low)
	ANDQ(second, mark)
	ORQ(low, p.marks[0])
	ORQ(mark, p.marks[1])
	MOVL(Mem{Base: p.dst, Index: at, Scale: 4}, step.As32())
	ADDQ(step, at)
	DECQ(count)
	JNZ(LabelRef("walk"))
	return p
}

func (p *patcher) done() {
	VZEROUPPER()
	result := GP8()
	MOVB(U8(1), result)
	Store(result, ReturnIndex(0))
	RET()
	Label("corrupt")
	VZEROUPPER()
	MOVB(U8(0), result)
	Store(result, ReturnIndex(0))
	RET()
}

func (p *patcher) at(g int) Mem { return Mem{Base: p.dst, Disp: 4 * group * g} }

func (p *patcher) group(g int) VecVirtual {
	word := p.marks[g/4]
	mark, take := GP64(), GP64()
	MOVWLZX(word.As16(), mark.As32())
	if g%4 != 3 {
		SHRQ(Imm(group), word)
	}
	slots, valid := K(), K()
	KMOVW(mark.As32(), slots)
	POPCNTQ(mark, mark)
	BZHIQ(mark, p.all, take)
	KMOVW(take.As32(), valid)

	v, values := ZMM(), ZMM()
	VMOVDQU32(p.at(g), v)
	src := Mem{Base: p.values}
	switch p.size {
	case 1:
		VPMOVZXBD_Z(src, valid, values)
	case 2:
		VPMOVZXWD_Z(src, valid, values)
	default:
		VMOVDQU32_Z(src, valid, values)
	}
	VPSUBD(p.ones, values, values)
	VPEXPANDD(values, slots, v)
	if g+1 < blockLen/group {
		LEAQ(Mem{Base: p.values, Index: mark, Scale: uint8(p.size)}, p.values)
	}
	return v
}
