package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Words that are loaded together, 32 or 64 bytes, unpacked in steps of one vector. VPERMB
// gathers the 4 bytes of each value to its lane; values that do not begin at a byte are
// shifted right.
type batch struct{ at, steps int }

// Byte indices and shifts of a step.
const rowGather = 2 * 64

// Applications of a selector that are unpacked together if a run is long enough, to fill
// vectors better.
func (s selector) several() int {
	switch s.bits {
	case 3, 5:
		return 2
	case 6, 10, 16, 32:
		return 4
	case 7, 9, 12, 21:
		return 2 // of two words
	}
	return 1
}

func (t *tables) writeGathers() {
	t.gathers = GLOBL("gathers512", RODATA|NOPTR)
	at := 0
	for n, s := range selectors {
		for times := 1; times <= s.several(); times++ {
			if times != s.several() && (times > 1 || s.words != 2) || s.several() == 1 {
				continue // not used
			}
			b := batch{at: at, steps: (times*s.count + t.lanes - 1) / t.lanes}
			t.batches[[2]int{n, times}] = b
			for step := range b.steps {
				for i := range t.lanes {
					DATA(at+4*i, U32(s.bytes(step*t.lanes+i)))
				}
				for i := range t.lanes {
					DATA(at+64+4*i, U32((step*t.lanes+i)%s.count/4*s.bits%8))
				}
				at += rowGather
			}
		}
	}
}

// The indices of the 4 bytes of value i in consecutive words of a selector, the first in
// the lowest bits.
func (s selector) bytes(i int) (indices uint32) {
	word, j := i/s.count*s.words, i%s.count
	for b := range 4 {
		at := j/4*s.bits/8 + b // in the lane
		if at < 4*s.words {
			indices |= uint32((word+at/4)*wordSize+j%4*4+at%4) % 64 << (8 * b)
		}
	}
	return indices
}
