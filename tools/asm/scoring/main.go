// Command scoring writes the assembly of internal/simd/scoring, whose doc.go runs it.
// Comments here describe only the differences from the Go reference (generic.go there).
package main

import (
	"math"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	build.ConstraintExpr("amd64,!noasm")
	compress := compressTable()
	iota16 := table32("iota16", every(1, 16))
	lasts16 := table32("lasts16", every(16, 8))
	contributionsAVX512(false)
	contributionsAVX512(true)
	contributionsAVX2(false)
	contributionsAVX2(true)
	matchAVX512(lasts16)
	matchAVX2()
	collectAVX512(iota16)
	collectAVX2(iota16, compress)
	selectAVX512()
	selectAVX2(compress)
	intersectAVX512(iota16)
	prefetch()
	build.Generate()
}

// The predicates of VPCMPUD.
const (
	lessThan = 1
	atLeast  = 5
)

func at(base, index reg.Register, scale uint8) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale}
}

// insert8 returns the 8 numbers at places, each loaded by itself: on a Zen 3, VPGATHERDD takes longer.
func insert8(place func(j int) operand.Mem) reg.VecVirtual {
	all, high := build.YMM(), build.XMM()
	for j := range 8 {
		half, m := all.AsX(), place(j)
		if j >= 4 {
			half = high
		}
		if j%4 == 0 {
			build.VMOVD(m, half)
		} else {
			build.VPINSRD(operand.Imm(uint64(j%4)), m, half, half)
		}
	}
	build.VINSERTI128(operand.Imm(1), high, all, all)
	return all
}

func broadcast(value uint32, v reg.VecVirtual) {
	r := build.GP32()
	build.MOVL(operand.U32(value), r)
	spread(r, v)
}

func spread(r reg.Register, v reg.VecVirtual) {
	x := build.XMM()
	build.VMOVD(r, x)
	build.VPBROADCASTD(x, v)
}

func spreadParam(name string, v reg.VecVirtual) {
	spread(build.Load(build.Param(name), build.GP32()), v)
}

// spreadFloat broadcasts a parameter from memory. MOVSS, an SSE instruction, took about 100 ns on an Intel Xeon when another
// register's upper half was in use (docs/benchmarks/traversals.md).
func spreadFloat(name string, v reg.VecVirtual) {
	param, err := build.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	build.VBROADCASTSS(param.Addr, v)
}

func prefetch() {
	build.TEXT("prefetch", build.NOSPLIT, "func(p *byte, n int)")
	build.Doc("prefetch loads the cache lines of n >= 1 bytes, without waiting for them.")
	p := loadPointer("p")
	end := build.Load(build.Param("n"), build.GP64())
	build.ADDQ(p, end)
	build.Label("line")
	build.PREFETCHT0(operand.Mem{Base: p})
	build.ADDQ(operand.Imm(64), p)
	build.CMPQ(p, end)
	build.JLO(operand.LabelRef("line"))
	build.RET()
}

func loadPointer(name string) reg.Register {
	return build.Load(build.Param(name), build.GP64())
}

func table32(name string, values []uint32) operand.Mem {
	t := build.GLOBL(name, build.RODATA|build.NOPTR)
	for i, v := range values {
		build.DATA(4*i, operand.U32(v))
	}
	return t
}

// step-1, 2*step-1, ...: the last index of each chunk of a block.
func every(step uint32, n int) []uint32 {
	values := make([]uint32, n)
	for i := range values {
		values[i] = uint32(i)*step + step - 1
	}
	return values
}

// For each 8-bit mask, the positions of its bits, one byte each: permuting a vector
// by them moves the selected lanes to the front.
func compressTable() operand.Mem {
	t := build.GLOBL("compress8", build.RODATA|build.NOPTR)
	for mask := range 256 {
		var entry uint64
		n := 0
		for lane := range 8 {
			if mask>>lane&1 == 1 {
				entry |= uint64(lane) << (8 * n)
				n++
			}
		}
		build.DATA(8*mask, operand.U64(entry))
	}
	return t
}

func linearName(name string, linear bool) string {
	if linear {
		return name + "Linear"
	}
	return name
}

var half = math.Float32bits(0.5)
