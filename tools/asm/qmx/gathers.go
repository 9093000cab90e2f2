package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// batch is what is unpacked of words that are loaded together, 32 or 64 bytes: a
// vector a step, to whose lanes VPERMB gathers the 4 bytes in which their values lie,
// shifted down where they do not begin with a byte.
type batch struct{ at, steps int }

// rowGather is the size of the constants of a step: indices of bytes, and shifts.
const rowGather = 2 * 64

// several is how often a selector is applied at once if a run is long enough: so that
// its values fill vectors better than those of a word, or two.
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

// writeGathers writes the constants of all batches.
func (t *tables) writeGathers() {
	t.gathers = GLOBL("gathers512", RODATA|NOPTR)
	at := 0
	for n, s := range selectors {
		for times := 1; times <= s.several(); times++ {
			if times != s.several() && (times > 1 || s.words != 2) || s.several() == 1 {
				continue // not unpacked so
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

// bytes returns the indices, in words that a selector is applied to again and again, of
// the 4 bytes in which value i lies, the first in the lowest bits.
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
