// Command letters writes the assembly of internal/simd/letters.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64,!noasm")
	TEXT("classifyAVX2", NOSPLIT, "func(window *[64]byte) (letters, others, middles uint64)")
	Doc("classifyAVX2 is classify.")
	Pragma("noescape")
	window := Load(Param("window"), GP64())
	var results [3]GPVirtual
	for half := range 2 {
		x := YMM()
		VMOVDQU(Mem{Base: window, Disp: 32 * half}, x)
		letters := between(or(x, 0x20), 'a', 'z')
		others := either(either(between(x, '0', '9'), equal(x, '_')), x) // the sign of x: beyond ASCII
		middles := either(either(equal(x, ':'), equal(x, '.')), equal(x, '\''))
		for i, v := range []VecVirtual{letters, others, middles} {
			bits := GP64()
			VPMOVMSKB(v, bits.As32())
			if half == 0 {
				results[i] = bits
				continue
			}
			SHLQ(Imm(32), bits)
			ORQ(results[i], bits)
			Store(bits, ReturnIndex(i))
		}
	}
	VZEROUPPER()
	RET()
	Generate()
}

var constants = map[byte]Mem{}

func broadcast(c byte) VecVirtual {
	v := YMM()
	at, ok := constants[c]
	if !ok {
		at = GLOBL("c"+string("0123456789abcdef"[c>>4])+string("0123456789abcdef"[c&15]), RODATA|NOPTR)
		DATA(0, U8(c))
		constants[c] = at
	}
	VPBROADCASTB(at, v)
	return v
}

func or(x VecVirtual, c byte) VecVirtual {
	v := broadcast(c)
	VPOR(x, v, v)
	return v
}

func either(a, b VecVirtual) VecVirtual {
	v := YMM()
	VPOR(a, b, v)
	return v
}

func equal(x VecVirtual, c byte) VecVirtual {
	v := broadcast(c)
	VPCMPEQB(x, v, v)
	return v
}

// between finds the bytes from first to last.
func between(x VecVirtual, first, last byte) VecVirtual {
	v, least := YMM(), broadcast(last-first)
	VPSUBB(broadcast(first), x, v)
	VPMINUB(v, least, least)
	VPCMPEQB(v, least, v)
	return v
}
