// Command qmx writes the assembly of internal/simd/qmx.
//
// Runs of words have separate code for each selector, so that the shifts of its values are
// constants. Vectors are stored to dst as they are unpacked, after gaps are summed up; only
// lanes that hold values are stored.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// As in package qmx; tests compare with the version in Go.
const (
	blockLen = 128
	wordSize = 16
	maxTail  = 127
	maxWidth = 32
	safe     = 24
)

type selector struct{ bits, count, words int }

var selectors = []selector{
	{0, 8, 0},
	{1, 128, 1},
	{2, 64, 1},
	{3, 40, 1},
	{4, 32, 1},
	{5, 24, 1},
	{6, 20, 1},
	{7, 36, 2},
	{8, 16, 1},
	{9, 28, 2},
	{10, 12, 1},
	{12, 20, 2},
	{16, 8, 1},
	{21, 12, 2},
	{32, 4, 1},
}

func main() {
	ConstraintExpr("amd64,!noasm")
	avx512 := writeTables("512", 16)
	avx2 := writeTables("2", 8)
	for _, gaps := range []bool{false, true} {
		decode512(avx512, gaps)
		decode2(avx2, gaps)
	}
	Generate()
}

// A shift of the first or the second word, to the right, or to the left if negative, by a
// number of bits for each group of 4 lanes.
type shift struct {
	second, left bool
	counts       []int
}

// The shifts whose combined results are the values of a selector from a slot of 4 values
// on, one slot for each group of lanes.
func (s selector) shifts(slot, groups int) []shift {
	first := shift{}
	low, high := shift{second: true}, shift{second: true, left: true}
	needed := [3]bool{}
	for g := range groups {
		from := (slot + g) * s.bits
		to := from + s.bits
		const none = 32 // shifts out all bits
		f, l, h := none, none, none
		if slot+g < s.count/4 {
			switch {
			case to <= 32:
				f = from
				needed[0] = true
			case from >= 32:
				l = from - 32
				needed[1] = true
			default:
				f, h = from, 32-from
				needed[0], needed[2] = true, true
			}
		}
		first.counts, low.counts, high.counts = append(first.counts, f), append(low.counts, l), append(high.counts, h)
	}
	var out []shift
	for i, x := range []shift{first, low, high} {
		if needed[i] {
			out = append(out, x)
		}
	}
	return out
}

// Vectors for the values of a word, or of two.
func (s selector) steps(lanes int) int { return (s.count + lanes - 1) / lanes }

// Constants of one level.
type tables struct {
	shifts Mem
	at     map[[3]int]int // offset in shifts, by selector, step and number of shift
	iota   Mem
	lanes  int

	// Only with 16 lanes: for the third step of a sum, and gathers.
	third, gathers Mem
	batches        map[[2]int]batch // by selector and times
}

func writeTables(suffix string, lanes int) tables {
	t := tables{lanes: lanes, at: map[[3]int]int{}, batches: map[[2]int]batch{}}
	t.iota = GLOBL("iota"+suffix, RODATA|NOPTR)
	for i := range lanes {
		DATA(4*i, U32(i))
	}
	if lanes == 16 {
		t.third = GLOBL("third"+suffix, RODATA|NOPTR)
		for i := range lanes {
			DATA(4*i, U32(i/8*8+3))
		}
		t.writeGathers()
	}
	t.shifts = GLOBL("shifts"+suffix, RODATA|NOPTR)
	offset := 0
	for n, s := range selectors {
		if s.words == 0 || s.words == 2 && lanes == 16 {
			continue
		}
		for step := range s.steps(lanes) {
			for i, x := range s.shifts(step*lanes/4, lanes/4) {
				t.at[[3]int{n, step, i}] = offset
				for _, count := range x.counts {
					for range 4 {
						DATA(offset, U32(count))
						offset += 4
					}
				}
			}
		}
	}
	return t
}

// General registers of all levels.
type kernel struct {
	src, sel, selEnd Register // src: the next word; sel: the next selector byte
	avail, left      Register // bytes after src; values left to unpack
	out              Register // address of the next value
	wide             Register // not 0 if some values have more than 24 bits
	times            Register // remaining applications of the selector
	first            Register // start of the encoding
}

func load(name, doc string) *kernel {
	TEXT(name, NOSPLIT, "func(dst *[128]uint32, src *byte, size, numSelectors int, add uint32, n int) (sizeAndWide int)")
	Doc(doc,
		"It reads at most size bytes at src. It returns the size of the encoding, plus 1<<32",
		"if some values have more than 24 bits, or a negative number if src is not an encoding.")
	Pragma("noescape")
	k := &kernel{
		out: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64()), sel: GP64(), selEnd: GP64(), times: GP64(),
		avail: Load(Param("size"), GP64()), left: Load(Param("n"), GP64()), wide: GP64(), first: GP64(),
	}
	MOVQ(k.src, k.sel)
	MOVQ(k.src, k.first)
	numSelectors := Load(Param("numSelectors"), GP64())
	ADDQ(numSelectors, k.src)
	SUBQ(numSelectors, k.avail)
	MOVQ(k.src, k.selEnd)
	XORQ(k.wide, k.wide)
	return k
}

// The loop over the selectors. run writes the code of a selector's run, without the size
// checks; it jumps back to "next". The code at "tail" follows the last selector.
func (k *kernel) selectors(run func(n int, s selector)) {
	code, bytes := GP64(), GP64()
	Label("next")
	CMPQ(k.sel, k.selEnd)
	JEQ(LabelRef("tail"))
	MOVBLZX(Mem{Base: k.sel}, k.times.(GPVirtual).As32())
	INCQ(k.sel)
	MOVQ(k.times, code)
	SHRQ(Imm(4), code)
	ANDQ(Imm(15), k.times)
	INCQ(k.times)
	tree(code, 0, len(selectors))
	Label("fail")
	MOVQ(I32(-1), code)
	Store(code, Return("sizeAndWide"))
	VZEROUPPER()
	RET()
	for n, s := range selectors {
		Label(label("run", n))
		if s.words > 0 {
			MOVQ(k.times, bytes)
			SHLQ(Imm(uint64(3+s.words)), bytes)
			SUBQ(bytes, k.avail)
			JLT(LabelRef("fail"))
		}
		IMUL3Q(Imm(uint64(s.count)), k.times, bytes)
		SUBQ(bytes, k.left)
		JLT(LabelRef("fail"))
		run(n, s)
		JMP(LabelRef("next"))
	}
}

func (k *kernel) loop(n int, s selector, body func()) {
	Label(label("word", n))
	body()
	k.advance(s, 1)
	DECQ(k.times)
	JNZ(LabelRef(label("word", n)))
}

func (k *kernel) advance(s selector, times int) {
	if s.words > 0 {
		ADDQ(U32(times*wordSize*s.words), k.src)
	}
	ADDQ(U32(times*4*s.count), k.out)
}

// The jump to the code of one of the selectors from..to-1.
func tree(code Register, from, to int) {
	if to-from == 1 {
		if from == len(selectors)-1 {
			CMPQ(code, Imm(uint64(from)))
			JNE(LabelRef("fail"))
		}
		JMP(LabelRef(label("run", from)))
		return
	}
	middle := (from + to) / 2
	CMPQ(code, Imm(uint64(middle)))
	JAE(LabelRef(label("from", middle)))
	tree(code, from, middle)
	Label(label("from", middle))
	tree(code, middle, to)
}

func label(name string, n int) string { return name + string(rune('A'+n)) }

// Reads the width of a tail and checks its size. Goes to "end" if there is no tail.
// Afterwards, src is at the tail's bytes, size of them.
func (k *kernel) tail() (width, size GPVirtual) {
	width, size = GP64(), GP64()
	Label("tail")
	CMPQ(k.left, Imm(0))
	JEQ(LabelRef("end"))
	DECQ(k.avail)
	JLT(LabelRef("fail"))
	MOVBLZX(Mem{Base: k.src}, width.As32())
	INCQ(k.src)
	CMPQ(width, Imm(maxWidth))
	JA(LabelRef("fail"))
	MOVQ(width, size)
	IMULQ(k.left, size)
	CMPQ(size, Imm(maxTail))
	JA(LabelRef("fail"))
	ADDQ(Imm(7), size)
	SHRQ(Imm(3), size)
	SUBQ(size, k.avail)
	JLT(LabelRef("fail"))
	wide := GP64()
	XORQ(wide, wide)
	CMPQ(width, Imm(safe))
	SETHI(wide.As8())
	ORQ(wide, k.wide)
	return width, size
}

func (k *kernel) end() {
	Label("end")
	VZEROUPPER()
	SUBQ(k.first, k.src)
	NEGQ(k.wide)
	SBBQ(k.wide, k.wide) // 0 or -1
	SHRQ(Imm(63), k.wide)
	SHLQ(Imm(32), k.wide)
	ADDQ(k.wide, k.src)
	Store(k.src, Return("sizeAndWide"))
	RET()
}
