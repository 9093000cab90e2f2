package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A group fills a vector with lanes of 8, 16, 32 or 64 bits. Every group begins at a byte, so all
// share the same indices and shifts.
//
// Up to 16 bits: VPERMB moves the bytes of 8 or 4 values to a lane of 64 bits, and
// VPMULTISHIFTQB takes each value's bytes at its bit. Up to 25 bits: VPERMB moves the 4 bytes of a
// value to its lane, and VPSRLVD shifts them. Above, VPERMD or VPERMQ moves the two words of a
// value, and VPSHRDVD or VPSHRDVQ (VBMI2) shifts both together.
type path struct {
	name        string
	from, to    int // widths
	lane        int // bits
	rowLen      int // vectors of a width in the table
	index, high func(w, i int) int
	shift       func(w, i int) int
}

func (p *path) group() int { return 512 / p.lane }

func paths() []path {
	return []path{
		{
			name: "bytes", from: 1, to: 8, lane: 8, rowLen: 2,
			index: func(w, i int) int { return i/8*w + i%8 },
			shift: func(w, i int) int { return i % 8 * w },
		},
		{
			name: "shorts", from: 9, to: 16, lane: 16, rowLen: 2,
			index: func(w, i int) int { return i/8*4*w/8 + i%8 },
			shift: func(w, i int) int { return i/8*4*w%8 + i%8/2*w + i%2*8 },
		},
		{
			name: "narrow", from: 17, to: 25, lane: 32, rowLen: 2,
			index: func(w, i int) int { return i/4*w/8 + i%4 },
			shift: func(w, i int) int { return i * w % 8 },
		},
		{
			name: "wide", from: 26, to: 32, lane: 32, rowLen: 3,
			index: func(w, i int) int { return i * w / 32 },
			high:  func(w, i int) int { return (i*w/32 + 1) % 16 }, // at width 32 unused, as the shift is 0
			shift: func(w, i int) int { return i * w % 32 },
		},
		{
			name: "long", from: 33, to: 64, lane: 64, rowLen: 3,
			index: func(w, i int) int { return i * w / 64 },
			high:  func(w, i int) int { return (i*w/64 + 1) % 8 },
			shift: func(w, i int) int { return i * w % 64 },
		},
	}
}

// table writes a row of vectors for each width.
func (p *path) table() Mem {
	t := GLOBL(p.name+"512", RODATA|NOPTR)
	for w := p.from; w <= p.to; w++ {
		at := 64 * p.rowLen * (w - p.from)
		row := func(f func(w, i int) int) func(int) int { return func(i int) int { return f(w, i) } }
		switch {
		case p.lane <= 16:
			data8(at, row(p.index))
			data8(at+64, func(i int) int { return p.shift(w, i) % 64 })
		case p.name == "narrow":
			data8(at, row(p.index))
			data32(at+64, row(p.shift))
		case p.lane == 32:
			data32(at, row(p.index))
			data32(at+64, row(p.high))
			data32(at+128, row(p.shift))
		default:
			data64(at, row(p.index))
			data64(at+64, row(p.high))
			data64(at+128, row(p.shift))
		}
	}
	return t
}

// unpacker extracts the values of a group.
type unpacker struct {
	path
	src, stride        Register // stride: bytes of a group
	valid              Register // mask of the bytes of a group
	mask               VecVirtual
	index, high, shift VecVirtual
}

func newUnpacker(p *path, table Mem, src, width Register) *unpacker {
	u := &unpacker{path: *p, src: src, stride: GP64(), mask: ZMM(), index: ZMM(), shift: ZMM()}
	ones, bytes, valid := GP64(), GP64(), K()
	MOVQ(I32(-1), ones)
	MOVQ(width, u.stride)
	IMUL3Q(Imm(uint64(p.group()/8)), u.stride, u.stride)
	BZHIQ(u.stride, ones, bytes)
	KMOVQ(bytes, valid)
	u.valid = valid
	lane := GP64()
	BZHIQ(width, ones, lane)
	broadcast512(p.lane, lane, u.mask)

	row, at := GP64(), GP64()
	MOVQ(width, row)
	SUBQ(Imm(uint64(p.from)), row)
	IMUL3Q(Imm(uint64(64*p.rowLen)), row, row)
	LEAQ(table, at)
	ADDQ(row, at)
	VMOVDQU64(Mem{Base: at}, u.index)
	if p.rowLen == 3 {
		u.high = ZMM()
		VMOVDQU64(Mem{Base: at, Disp: 64}, u.high)
	}
	VMOVDQU64(Mem{Base: at, Disp: 64 * (p.rowLen - 1)}, u.shift)
	return u
}

func broadcast512(lane int, from Register, to VecVirtual) {
	r := from.(GPVirtual)
	switch lane {
	case 8:
		VPBROADCASTB(r.As32(), to)
	case 16:
		VPBROADCASTW(r.As32(), to)
	case 32:
		VPBROADCASTD(r.As32(), to)
	case 64:
		VPBROADCASTQ(r, to)
	}
}

// Bytes between a load and a prefetch. Without prefetches, a range over 25 million values of 24 bits
// in memory takes two to three times the time on Zen 5.
const ahead = 2048

// next returns the values of the next group; last means that none follows.
func (u *unpacker) next(last bool) VecVirtual {
	v := ZMM()
	VMOVDQU8_Z(Mem{Base: u.src}, u.valid, v)
	PREFETCHT0(Mem{Base: u.src, Disp: ahead})
	if !last {
		ADDQ(u.stride, u.src)
	}
	switch {
	case u.lane <= 16:
		VPERMB(v, u.index, v)
		VPMULTISHIFTQB(v, u.shift, v)
	case u.high == nil:
		VPERMB(v, u.index, v)
		VPSRLVD(u.shift, v, v)
	case u.lane == 32:
		high := ZMM()
		VPERMD(v, u.high, high)
		VPERMD(v, u.index, v)
		VPSHRDVD(u.shift, high, v)
	default:
		high := ZMM()
		VPERMQ(v, u.high, high)
		VPERMQ(v, u.index, v)
		VPSHRDVQ(u.shift, high, v)
	}
	VPANDQ(u.mask, v, v)
	return v
}

func avx512() {
	all := paths()
	tables := make([]Mem, len(all))
	for i := range all {
		tables[i] = all[i].table()
	}
	range512(all, tables)
	unpack512(all, tables)
	select512()
	list512()
}

// branch jumps to the path of the width; the first path follows.
func branch(all []path, width Register) {
	for i := len(all) - 1; i > 0; i-- {
		CMPQ(width, Imm(uint64(all[i].from)))
		JAE(LabelRef(all[i].name))
	}
}

func range512(all []path, tables []Mem) {
	TEXT("rangeAVX512", NOSPLIT, "func(set *[2]uint64, src *byte, lo, span uint64, width uint8)")
	Doc("rangeAVX512 sets the bits of the values from lo to lo+span, of 1 to 64 bits.", "It reads 16*width bytes at src.")
	Pragma("noescape")
	set, src := Load(Param("set"), GP64()), Load(Param("src"), GP64())
	lo, span := Load(Param("lo"), GP64()), Load(Param("span"), GP64())
	width := GP64()
	Load(Param("width"), width.As32())
	branch(all, width)
	for i := range all {
		p := &all[i]
		Label(p.name)
		u := newUnpacker(p, tables[i], src, width)
		least, most := ZMM(), ZMM()
		broadcast512(p.lane, lo, least)
		broadcast512(p.lane, span, most)
		n := blockLen / p.group()
		for g := range n {
			v, k := u.next(g == n-1), K()
			at := Mem{Base: set, Disp: g * p.group() / 8}
			const atMost = 2
			switch p.lane {
			case 8:
				VPSUBB(least, v, v)
				VPCMPUB(Imm(atMost), most, v, k)
				KMOVQ(k, at)
			case 16:
				VPSUBW(least, v, v)
				VPCMPUW(Imm(atMost), most, v, k)
				KMOVD(k, at)
			case 32:
				VPSUBD(least, v, v)
				VPCMPUD(Imm(atMost), most, v, k)
				KMOVW(k, at)
			case 64:
				VPSUBQ(least, v, v)
				VPCMPUQ(Imm(atMost), most, v, k)
				KMOVB(k, at)
			}
		}
		VZEROUPPER()
		RET()
	}
}

func unpack512(all []path, tables []Mem) {
	TEXT("unpackAVX512", NOSPLIT, "func(dst *[128]int64, src *byte, add int64, width uint8)")
	Doc("unpackAVX512 writes 128 values of 1 to 64 bits, each plus add, to dst.", "It reads 16*width bytes at src.")
	Pragma("noescape")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	width := GP64()
	add := ZMM()
	VPBROADCASTQ(Load(Param("add"), GP64()), add)
	Load(Param("width"), width.As32())
	branch(all, width)
	for i := range all {
		p := &all[i]
		Label(p.name)
		u := newUnpacker(p, tables[i], src, width)
		n := blockLen / p.group()
		for g := range n {
			v := u.next(g == n-1)
			for part := range 64 / p.lane {
				out := v
				if p.lane < 64 {
					out = extend(v, p.lane, part)
				}
				VPADDQ(add, out, out)
				VMOVDQU64(out, Mem{Base: dst, Disp: 8 * (g*p.group() + 8*part)})
			}
		}
		VZEROUPPER()
		RET()
	}
}

// extend returns 8 lanes of v, the part-th, as lanes of 64 bits.
func extend(v VecVirtual, lane, part int) VecVirtual {
	out := ZMM()
	x := v.AsX().(VecVirtual)
	switch lane {
	case 32:
		y := v.AsY()
		if part > 0 {
			h := YMM()
			VEXTRACTI64X4(Imm(1), v, h)
			VPMOVZXDQ(h, out)
			return out
		}
		VPMOVZXDQ(y, out)
	case 16:
		if part > 0 {
			h := XMM()
			VEXTRACTI64X2(Imm(uint64(part)), v, h)
			x = h
		}
		VPMOVZXWQ(x, out)
	case 8:
		if part >= 2 {
			h := XMM()
			VEXTRACTI64X2(Imm(uint64(part/2)), v, h)
			x = h
		}
		if part%2 == 1 {
			h := XMM()
			VPSRLDQ(Imm(8), x, h)
			x = h
		}
		VPMOVZXBQ(x, out)
	}
	return out
}

func select512() {
	TEXT("selectAVX512", NOSPLIT, "func(dst *uint32, values *[128]uint32, set *[2]uint64) int")
	Doc("selectAVX512 writes the values whose bits are set to dst, and their number is its result.", "It writes 16 values more.")
	Pragma("noescape")
	dst, values, set := Load(Param("dst"), GP64()), Load(Param("values"), GP64()), Load(Param("set"), GP64())
	total := GP64()
	XORQ(total, total)
	for g := range blockLen / 16 {
		v, k, bits := ZMM(), K(), GP32()
		MOVWLZX(Mem{Base: set, Disp: 2 * g}, bits)
		KMOVW(bits, k)
		VMOVDQU32(Mem{Base: values, Disp: 64 * g}, v)
		VPCOMPRESSD_Z(v, k, v)
		VMOVDQU32(v, Mem{Base: dst, Index: total, Scale: 4})
		POPCNTL(bits, bits)
		ADDQ(bits.As64(), total)
	}
	VZEROUPPER()
	Store(total, ReturnIndex(0))
	RET()
}

// The bytes 0 to 63 of the set bits are gathered, and widened with the number of the word.
func list512() {
	TEXT("listAVX512", NOSPLIT, "func(dst *uint16, set *uint64, n int) int")
	Doc("listAVX512 writes the positions of the bits that are set in n >= 1 words, and their number is its result.",
		"It writes up to 64 positions more.")
	Pragma("noescape")
	dst, set, n := Load(Param("dst"), GP64()), Load(Param("set"), GP64()), Load(Param("n"), GP64())
	numbers := GLOBL("numbers512", RODATA|NOPTR)
	data8(0, func(i int) int { return i })
	all, first, step, r := ZMM(), ZMM(), ZMM(), GP32()
	VMOVDQU8(numbers, all)
	VPXORQ(first, first, first)
	MOVL(U32(64), r)
	VPBROADCASTW(r, step)
	total := GP64()
	XORQ(total, total)
	Label("loop")
	word, k, v, low := GP64(), K(), ZMM(), ZMM()
	MOVQ(Mem{Base: set}, word)
	ADDQ(Imm(8), set)
	KMOVQ(word, k)
	POPCNTQ(word, word)
	VPCOMPRESSB_Z(all, k, v)
	VPMOVZXBW(v.AsY(), low)
	VPADDW(first, low, low)
	VMOVDQU16(low, Mem{Base: dst, Index: total, Scale: 2})
	CMPQ(word, Imm(32))
	JA(LabelRef("high"))
	Label("next")
	ADDQ(word, total)
	VPADDW(step, first, first)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	Store(total, ReturnIndex(0))
	RET()
	Label("high")
	half, high := YMM(), ZMM()
	VEXTRACTI64X4(Imm(1), v, half)
	VPMOVZXBW(half, high)
	VPADDW(first, high, high)
	VMOVDQU16(high, Mem{Base: dst, Index: total, Scale: 2, Disp: 64})
	JMP(LabelRef("next"))
}
