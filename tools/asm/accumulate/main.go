// Command accumulate writes the assembly of internal/simd/accumulate, whose doc.go runs it.
// Comments here describe only the differences from the Go reference (generic.go there).
package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Accumulators of one bitmap word.
const line = 64

// Of an accumulator: 8, 16 or 32 bits.
type width int

func (w width) bytes() int { return int(w) / 8 }

func (w width) typ() string { return fmt.Sprintf("uint%d", int(w)) }

func main() {
	build.ConstraintExpr("amd64,!noasm")
	for _, w := range []width{8, 16, 32} {
		scatter(w)
	}
	for _, w := range []width{8, 16, 32} {
		bitmapAVX512(w)
	}
	tables := bitTables()
	for _, w := range []width{8, 16, 32} {
		bitmapAVX2(w, tables)
	}
	for _, w := range []width{8, 16, 32} {
		drainAVX512(w)
	}
	for _, w := range []width{8, 16, 32} {
		drainAVX2(w)
	}
	build.Generate()
}

func pointer(name string) reg.Register { return build.Load(build.Param(name), build.GP64()) }

// DocIDs are loaded one by one: the additions are independent loads and stores, which the
// processor overlaps.
func scatter(w width) {
	build.TEXT(fmt.Sprintf("scatter%dAMD64", int(w)), build.NOSPLIT,
		fmt.Sprintf("func(acc *%[1]s, numAccs int, docIDs *uint32, n int, v %[1]s) (done int)", w.typ()))
	build.Doc("It needs no vector instructions.")
	acc, limit := pointer("acc"), pointer("numAccs")
	docIDs, n := pointer("docIDs"), pointer("n")
	v := build.Load(build.Param("v"), map[width]reg.Register{8: build.GP8(), 16: build.GP16(), 32: build.GP32()}[w])
	i, four := build.GP64(), build.GP64()
	build.XORQ(i, i)
	build.MOVQ(n, four)
	build.SUBQ(operand.Imm(3), four)

	add := func(offset int) {
		d := build.GP64()
		build.MOVL(operand.Mem{Base: docIDs, Index: i, Scale: 4, Disp: 4 * offset}, d.As32())
		build.CMPQ(d, limit)
		build.JCC(operand.LabelRef("bad" + fmt.Sprint(offset)))
		m := operand.Mem{Base: acc, Index: d, Scale: uint8(w.bytes())}
		switch w {
		case 8:
			build.ADDB(v, m)
		case 16:
			build.ADDW(v, m)
		case 32:
			build.ADDL(v, m)
		}
	}
	build.Label("four")
	build.CMPQ(i, four)
	build.JGE(operand.LabelRef("one"))
	for offset := range 4 {
		add(offset)
	}
	build.ADDQ(operand.Imm(4), i)
	build.JMP(operand.LabelRef("four"))
	build.Label("one")
	build.CMPQ(i, n)
	build.JGE(operand.LabelRef("bad0"))
	add(0)
	build.INCQ(i)
	build.JMP(operand.LabelRef("one"))
	for offset := 3; offset > 0; offset-- {
		build.Label("bad" + fmt.Sprint(offset))
		build.INCQ(i)
	}
	build.Label("bad0")
	build.Store(i, build.ReturnIndex(0))
	build.RET()
}

func spread(w width, name string, to reg.Register) {
	if w == 32 {
		x := build.XMM()
		build.VMOVD(build.Load(build.Param(name), build.GP32()), x)
		build.VPBROADCASTD(x, to)
		return
	}
	r := build.GP32()
	x := build.XMM()
	if w == 8 {
		build.MOVBLZX(paramMem(name), r)
		build.VMOVD(r, x)
		build.VPBROADCASTB(x, to)
		return
	}
	build.MOVWLZX(paramMem(name), r)
	build.VMOVD(r, x)
	build.VPBROADCASTW(x, to)
}

func paramMem(name string) operand.Mem {
	c, err := build.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

// Adds v under a mask: one line of 8-bit accumulators at a time.
func bitmapAVX512(w width) {
	build.TEXT(fmt.Sprintf("bitmap%dAVX512", int(w)), build.NOSPLIT,
		fmt.Sprintf("func(acc *%[1]s, words *byte, n int, v %[1]s)", w.typ()))
	build.Doc("n >= 1 is the number of words.")
	acc, words, n := pointer("acc"), pointer("words"), pointer("n")
	v := build.ZMM()
	spread(w, "v", v)
	vectors := w.bytes() // of one line
	build.Label("word")
	for i := range vectors {
		k, a := build.K(), build.ZMM()
		mask := operand.Mem{Base: words, Disp: i * line / 8 / vectors}
		m := operand.Mem{Base: acc, Disp: 64 * i}
		build.VMOVDQU64(m, a)
		switch w {
		case 8:
			build.KMOVQ(mask, k)
			build.VPADDB(v, a, k, a)
		case 16:
			build.KMOVD(mask, k)
			build.VPADDW(v, a, k, a)
		case 32:
			build.KMOVW(mask, k)
			build.VPADDD(v, a, k, a)
		}
		build.VMOVDQU64(a, m)
	}
	build.ADDQ(operand.Imm(8), words)
	build.ADDQ(operand.U32(uint32(64*vectors)), acc)
	build.DECQ(n)
	build.JNZ(operand.LabelRef("word"))
	build.VZEROUPPER()
	build.RET()
}

// For bitmapAVX2: shuffle moves the byte of each bit to its position, bits selects the
// bit there.
type tables struct {
	shuffle operand.Mem
	bits    map[width]operand.Mem
}

func bitTables() tables {
	t := tables{bits: map[width]operand.Mem{}}
	t.shuffle = build.GLOBL("byteOfBit", build.RODATA|build.NOPTR)
	for i := range 32 {
		build.DATA(i, operand.U8(uint8(i/8)))
	}
	for _, w := range []width{8, 16, 32} {
		t.bits[w] = build.GLOBL(fmt.Sprintf("bits%d", int(w)), build.RODATA|build.NOPTR)
		for i := range 32 / w.bytes() {
			switch w {
			case 8:
				build.DATA(i, operand.U8(1<<(i%8)))
			case 16:
				build.DATA(2*i, operand.U16(1<<i))
			case 32:
				build.DATA(4*i, operand.U32(1<<i))
			}
		}
	}
	return t
}

// Converts bits to vectors of v and 0, and adds them.
func bitmapAVX2(w width, t tables) {
	build.TEXT(fmt.Sprintf("bitmap%dAVX2", int(w)), build.NOSPLIT,
		fmt.Sprintf("func(acc *%[1]s, words *byte, n int, v %[1]s)", w.typ()))
	build.Doc("n >= 1 is the number of words.")
	acc, words, n := pointer("acc"), pointer("words"), pointer("n")
	v, bits := build.YMM(), build.YMM()
	spread(w, "v", v)
	build.VMOVDQU(t.bits[w], bits)
	shuffle := build.YMM()
	if w == 8 {
		build.VMOVDQU(t.shuffle, shuffle)
	}
	perVector := 32 / w.bytes()
	build.Label("word")
	for i := range line / perVector {
		x := build.YMM()
		from := operand.Mem{Base: words, Disp: i * perVector / 8}
		switch w {
		case 8:
			build.VPBROADCASTD(from, x)
			build.VPSHUFB(shuffle, x, x)
			build.VPAND(bits, x, x)
			build.VPCMPEQB(bits, x, x)
		case 16:
			build.VPBROADCASTW(from, x)
			build.VPAND(bits, x, x)
			build.VPCMPEQW(bits, x, x)
		case 32:
			build.VPBROADCASTB(from, x)
			build.VPAND(bits, x, x)
			build.VPCMPEQD(bits, x, x)
		}
		build.VPAND(v, x, x)
		m := operand.Mem{Base: acc, Disp: 32 * i}
		switch w {
		case 8:
			build.VPADDB(m, x, x)
		case 16:
			build.VPADDW(m, x, x)
		case 32:
			build.VPADDD(m, x, x)
		}
		build.VMOVDQU(x, m)
	}
	build.ADDQ(operand.Imm(8), words)
	build.ADDQ(operand.U32(uint32(line*w.bytes())), acc)
	build.DECQ(n)
	build.JNZ(operand.LabelRef("word"))
	build.VZEROUPPER()
	build.RET()
}

// The predicate of VPCMPU.
const atLeast = 5

func drainAVX512(w width) {
	build.TEXT(fmt.Sprintf("drain%dAVX512", int(w)), build.NOSPLIT,
		fmt.Sprintf("func(acc *%[1]s, lines int, least %[1]s) (done int, high uint64)", w.typ()))
	build.Doc("lines is at least 1; done counts lines.")
	acc, lines := pointer("acc"), pointer("lines")
	least, zero := build.ZMM(), build.ZMM()
	spread(w, "least", least)
	build.VPXORQ(zero, zero, zero)
	done, high := build.GP64(), build.GP64()
	build.XORQ(done, done)
	vectors := w.bytes()
	build.Label("line")
	for i := range vectors {
		a, k := build.ZMM(), build.K()
		build.VMOVDQU64(operand.Mem{Base: acc, Disp: 64 * i}, a)
		part := high
		if i > 0 {
			part = build.GP64()
		}
		switch w {
		case 8:
			build.VPCMPUB(operand.Imm(atLeast), least, a, k)
			build.KMOVQ(k, part)
		case 16:
			build.VPCMPUW(operand.Imm(atLeast), least, a, k)
			build.KMOVD(k, part.As32())
		case 32:
			build.VPCMPUD(operand.Imm(atLeast), least, a, k)
			build.KMOVW(k, part.As32())
		}
		if i > 0 {
			build.SHLQ(operand.Imm(uint64(i*line/vectors)), part)
			build.ORQ(part, high)
		}
	}
	build.TESTQ(high, high)
	build.JNZ(operand.LabelRef("found"))
	for i := range vectors {
		build.VMOVDQU64(zero, operand.Mem{Base: acc, Disp: 64 * i})
	}
	build.ADDQ(operand.U32(uint32(64*vectors)), acc)
	build.INCQ(done)
	build.CMPQ(done, lines)
	build.JLT(operand.LabelRef("line"))
	build.Label("found")
	build.VZEROUPPER()
	build.Store(done, build.ReturnIndex(0))
	build.Store(high, build.ReturnIndex(1))
	build.RET()
}

// One line at a time: a value reaches least if it is the maximum of the two.
func drainAVX2(w width) {
	build.TEXT(fmt.Sprintf("drain%dAVX2", int(w)), build.NOSPLIT,
		fmt.Sprintf("func(acc *%[1]s, lines int, least %[1]s) (done int)", w.typ()))
	build.Doc("lines is at least 1; done counts lines.")
	acc, lines := pointer("acc"), pointer("lines")
	least, zero := build.YMM(), build.YMM()
	spread(w, "least", least)
	build.VPXOR(zero, zero, zero)
	done := build.GP64()
	build.XORQ(done, done)
	vectors := 2 * w.bytes()
	build.Label("line")
	found := build.YMM()
	for i := range vectors {
		a, m := build.YMM(), build.YMM()
		build.VMOVDQU(operand.Mem{Base: acc, Disp: 32 * i}, a)
		switch w {
		case 8:
			build.VPMAXUB(least, a, m)
			build.VPCMPEQB(a, m, m)
		case 16:
			build.VPMAXUW(least, a, m)
			build.VPCMPEQW(a, m, m)
		case 32:
			build.VPMAXUD(least, a, m)
			build.VPCMPEQD(a, m, m)
		}
		if i == 0 {
			build.VMOVDQA(m, found)
		} else {
			build.VPOR(m, found, found)
		}
	}
	build.VPTEST(found, found)
	build.JNZ(operand.LabelRef("found"))
	for i := range vectors {
		build.VMOVDQU(zero, operand.Mem{Base: acc, Disp: 32 * i})
	}
	build.ADDQ(operand.U32(uint32(32*vectors)), acc)
	build.INCQ(done)
	build.CMPQ(done, lines)
	build.JLT(operand.LabelRef("line"))
	build.Label("found")
	build.VZEROUPPER()
	build.Store(done, build.ReturnIndex(0))
	build.RET()
}
