// Command eliasfano writes the assembly of internal/simd/eliasfano. Four kernels
// (Elias-Fano or Rice; DocIDs or frequencies) share two phases, for each of two levels.
//
//  1. find: writes the high part of each end in the unary part to memory, as a byte.
//  2. combine: combines high parts and low bits, one vector of values at a time.
package main

import (
	"encoding/binary"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// As in package eliasfano.
const (
	blockLen  = 128
	maxWidth  = 24
	highWords = 6 // 64 bits each; all but the last bit are used
)

type kernel struct {
	name        string
	rice, freqs bool
}

var kernels = []kernel{
	{name: "docIDs"},
	{name: "freqs", freqs: true},
	{name: "riceDocIDs", rice: true},
	{name: "riceFreqs", rice: true, freqs: true},
}

func main() {
	ConstraintExpr("amd64,!noasm")
	t512, t2 := tables512(), tables2()
	for _, k := range kernels {
		avx512(k, t512)
		avx2(k, t2)
	}
	Generate()
}

// The kernels for frequencies have no base.
func (k kernel) begin(level string) (dst, src, width, base Register) {
	signature := "func(dst *[128]uint32, src *byte, base uint32, width uint8) int"
	if k.freqs {
		signature = "func(dst *[128]uint32, src *byte, width uint8) int"
	}
	TEXT(k.name+level, NOSPLIT, signature)
	Doc(k.name + level + " is " + k.name + "Go; src has Space(width) bytes.")
	Pragma("noescape")
	dst, src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	w := GP64()
	Load(Param("width"), w.As32())
	if !k.freqs {
		base = Load(Param("base"), GP32())
	}
	return dst, src, w, base
}

// The number of bits of the unary part, or 0 at the label "none".
func end(bits Register, vectors bool) {
	Store(bits, ReturnIndex(0))
	if vectors {
		VZEROUPPER()
	}
	RET()
	Label("none")
	zero := GP64()
	XORQ(zero, zero)
	Store(zero, ReturnIndex(0))
	if vectors {
		VZEROUPPER()
	}
	RET()
}

// The length is a multiple of 8.
func table8(name string, values []byte) Mem {
	t := GLOBL(name, RODATA|NOPTR)
	for i := 0; i < len(values); i += 8 {
		DATA(i, U64(binary.LittleEndian.Uint64(values[i:])))
	}
	return t
}

func table32(name string, values []uint32) Mem {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return table8(name, b)
}

// A row for each width: for each lane, the indices of the 4 bytes of its slot, and the
// shift. bit returns the start of the slot.
func slots(lanes int, bit func(lane, width int) int) (rows []uint32) {
	for w := range maxWidth + 1 {
		for i := range lanes {
			rows = append(rows, 0x03020100+0x01010101*uint32(bit(i, w)/8))
		}
		for i := range lanes {
			rows = append(rows, uint32(bit(i, w)%8))
		}
	}
	return rows
}

func count[T byte | uint32](n int) []T {
	values := make([]T, n)
	for i := range values {
		values[i] = T(i)
	}
	return values
}

// The address of the row of a width.
func row(table Mem, width Register, size int) Register {
	at, offset := GP64(), GP64()
	IMUL3Q(Imm(uint64(size)), width, offset)
	LEAQ(table, at)
	ADDQ(offset, at)
	return at
}
