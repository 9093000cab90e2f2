// Command column writes the assembly of internal/simd/column.
//
// The AVX-512 kernels load through masks and read nothing beyond the values; the AVX2 kernels
// read at most Slack more bytes.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// As in package column.
const (
	blockLen = 128
	maxWidth = 64
)

func main() {
	ConstraintExpr("amd64,!noasm")
	avx512()
	avx2()
	moves()
	tally()
	tallyEven()
	mark()
	ones512()
	onesPOPCNT()
	Generate()
}

// moves writes the kernels of single words.
func moves() {
	for _, k := range []struct {
		name, doc string
		move      func(mask, bits, out Register)
	}{
		{"depositBMI2", "depositBMI2 is Deposit.", func(mask, bits, out Register) { PDEPQ(mask, bits, out) }},
		{"extractBMI2", "extractBMI2 is Extract.", func(mask, bits, out Register) { PEXTQ(mask, bits, out) }},
	} {
		TEXT(k.name, NOSPLIT, "func(word, set uint64) uint64")
		Doc(k.doc)
		word, set := Load(Param("word"), GP64()), Load(Param("set"), GP64())
		k.move(set, word, word)
		Store(word, ReturnIndex(0))
		RET()
	}
}

// tally reads values one by one. A value's bits are in the 8 bytes from its first one on.
func tally() {
	TEXT("tallyBMI2", NOSPLIT, "func(counts *uint32, numCounts uint64, d *[128]int64, src *byte, positions *uint16, n int) int")
	Doc("tallyBMI2 is Tally of n >= 1 positions. A Directory begins at d.")
	Pragma("noescape")
	counts, most := Load(Param("counts"), GP64()), Load(Param("numCounts"), GP64())
	d, src := Load(Param("d"), GP64()), Load(Param("src"), GP64())
	at, n := Load(Param("positions"), GP64()), Load(Param("n"), GP64())
	const spans, offsets = 8 * blockLen, 16 * blockLen
	done, width0 := GP64(), GP64()
	XORQ(done, done)
	MOVQ(U32(64), width0)
	Label("loop")
	i, block, width, bit, offset, value := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	MOVWQZX(Mem{Base: at, Index: done, Scale: 2}, i)
	MOVQ(i, block)
	SHRQ(Imm(7), block)
	ANDL(Imm(blockLen-1), i.As32())
	LZCNTQ(Mem{Base: d, Index: block, Scale: 8, Disp: spans}, bit)
	MOVQ(width0, width)
	SUBQ(bit, width)
	IMULQ(width, i)
	MOVL(Mem{Base: d, Index: block, Scale: 4, Disp: offsets}, offset.As32())
	MOVQ(i, bit)
	SHRQ(Imm(3), bit)
	ADDQ(src, offset)
	ANDL(Imm(7), i.As32())
	SHRXQ(i, Mem{Base: offset, Index: bit, Scale: 1}, value)
	BZHIQ(width, value, value)
	ADDQ(Mem{Base: d, Index: block, Scale: 8}, value)
	CMPQ(value, most)
	JAE(LabelRef("end"))
	INCL(Mem{Base: counts, Index: value, Scale: 4})
	INCQ(done)
	CMPQ(done, n)
	JB(LabelRef("loop"))
	Label("end")
	Store(done, ReturnIndex(0))
	RET()
}

// tallyEven is tally without the look-ups of widths and offsets, two positions at a time.
func tallyEven() {
	TEXT("tallyEvenBMI2", NOSPLIT, "func(counts *uint32, numCounts uint64, mins *[128]int64, src *byte, width uint64, positions *uint16, n int) int")
	Doc("tallyEvenBMI2 is TallyEven of n >= 1 positions.")
	Pragma("noescape")
	counts, most := Load(Param("counts"), GP64()), Load(Param("numCounts"), GP64())
	mins, src, width := Load(Param("mins"), GP64()), Load(Param("src"), GP64()), Load(Param("width"), GP64())
	at, n := Load(Param("positions"), GP64()), Load(Param("n"), GP64())
	done, last := GP64(), GP64()
	XORQ(done, done)
	MOVQ(n, last)
	DECQ(last)
	read := func(offset int) Register {
		i, bit, value := GP64(), GP64(), GP64()
		MOVWQZX(Mem{Base: at, Index: done, Scale: 2, Disp: 2 * offset}, i)
		MOVQ(i, bit)
		SHRQ(Imm(7), i)
		IMULQ(width, bit)
		block := i
		i = GP64()
		MOVQ(bit, i)
		SHRQ(Imm(3), i)
		ANDL(Imm(7), bit.As32())
		SHRXQ(bit, Mem{Base: src, Index: i, Scale: 1}, value)
		BZHIQ(width, value, value)
		ADDQ(Mem{Base: mins, Index: block, Scale: 8}, value)
		return value
	}
	add := func(value Register, label string) {
		CMPQ(value, most)
		JAE(LabelRef(label))
		INCL(Mem{Base: counts, Index: value, Scale: 4})
	}
	Label("two")
	CMPQ(done, last)
	JAE(LabelRef("one"))
	first, second := read(0), read(1)
	add(first, "end")
	add(second, "second")
	ADDQ(Imm(2), done)
	JMP(LabelRef("two"))
	Label("one")
	CMPQ(done, n)
	JAE(LabelRef("end"))
	add(read(0), "end")
	Label("second")
	INCQ(done)
	Label("end")
	Store(done, ReturnIndex(0))
	RET()
}

// mark sets bits of bytes: a byte that was just written delays its next change, and four parts of the positions seldom
// meet in one.
func mark() {
	TEXT("markBMI2", NOSPLIT, "func(set *uint64, numBits uint64, positions *uint32, n int) int")
	Doc("markBMI2 sets the bits of 4*n positions, n >= 1. Its result is 0, or not if a position is too great.")
	Pragma("noescape")
	set, most := Load(Param("set"), GP64()), Load(Param("numBits"), GP64())
	at, n := Load(Param("positions"), GP64()), Load(Param("n"), GP64())
	parts := []Register{at, GP64(), GP64(), GP64()}
	for i := 1; i < len(parts); i++ {
		LEAQ(Mem{Base: parts[i-1], Index: n, Scale: 4}, parts[i])
	}
	one, i, bad := GP64(), GP64(), GP64()
	MOVQ(U32(1), one)
	XORQ(i, i)
	MOVQ(U32(1), bad)
	Label("loop")
	for _, part := range parts {
		d, bit := GP64(), GP64()
		MOVL(Mem{Base: part, Index: i, Scale: 4}, d.As32())
		CMPQ(d, most)
		JAE(LabelRef("end"))
		MOVL(d.As32(), bit.As32())
		ANDL(Imm(7), bit.As32())
		SHRL(Imm(3), d.As32())
		SHLXQ(bit, one, bit)
		ORB(bit.As8(), Mem{Base: set, Index: d, Scale: 1})
	}
	INCQ(i)
	CMPQ(i, n)
	JB(LabelRef("loop"))
	XORQ(bad, bad)
	Label("end")
	Store(bad, ReturnIndex(0))
	RET()
}

// onesPOPCNT adds in four sums, because POPCNT waits for its destination on some processors.
func onesPOPCNT() {
	TEXT("onesPOPCNT", NOSPLIT, "func(set *uint64, n int) int")
	Doc("onesPOPCNT counts the bits that are set in 4*n words, n >= 1.")
	Pragma("noescape")
	set, n := Load(Param("set"), GP64()), Load(Param("n"), GP64())
	sums := []Register{GP64(), GP64(), GP64(), GP64()}
	for _, sum := range sums {
		XORQ(sum, sum)
	}
	Label("loop")
	for i, sum := range sums {
		one := GP64()
		POPCNTQ(Mem{Base: set, Disp: 8 * i}, one)
		ADDQ(one, sum)
	}
	ADDQ(Imm(32), set)
	DECQ(n)
	JNZ(LabelRef("loop"))
	for _, sum := range sums[1:] {
		ADDQ(sum, sums[0])
	}
	Store(sums[0], ReturnIndex(0))
	RET()
}

// ones512 has four sums, as onesPOPCNT.
func ones512() {
	TEXT("onesAVX512", NOSPLIT, "func(set *uint64, n int) int")
	Doc("onesAVX512 counts the bits that are set in 32*n words, n >= 1.")
	Pragma("noescape")
	set, n := Load(Param("set"), GP64()), Load(Param("n"), GP64())
	sums := []VecVirtual{ZMM(), ZMM(), ZMM(), ZMM()}
	for _, sum := range sums {
		VPXORQ(sum, sum, sum)
	}
	Label("loop")
	for i, sum := range sums {
		one := ZMM()
		VPOPCNTQ(Mem{Base: set, Disp: 64 * i}, one)
		VPADDQ(one, sum, sum)
	}
	ADDQ(U32(256), set)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VPADDQ(sums[1], sums[0], sums[0])
	VPADDQ(sums[3], sums[2], sums[2])
	VPADDQ(sums[2], sums[0], sums[0])
	half := YMM()
	VEXTRACTI64X4(Imm(1), sums[0], half)
	y := sums[0].AsY()
	VPADDQ(half, y, y)
	quarter := XMM()
	VEXTRACTI128(Imm(1), y, quarter)
	x := sums[0].AsX()
	VPADDQ(quarter, x, x)
	total, high := GP64(), GP64()
	VMOVQ(x, total)
	VPEXTRQ(Imm(1), x, high)
	ADDQ(high, total)
	VZEROUPPER()
	Store(total, ReturnIndex(0))
	RET()
}

// A vector of bytes, of words of 32 bits, of words of 64 bits.
func data8(at int, value func(i int) int) {
	for i := range 64 {
		DATA(at+i, U8(value(i)))
	}
}

func data32(at int, value func(i int) int) {
	for i := range 16 {
		DATA(at+4*i, U32(value(i)))
	}
}

func data64(at int, value func(i int) int) {
	for i := range 8 {
		DATA(at+8*i, U64(value(i)))
	}
}
