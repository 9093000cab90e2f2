package main

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const maxWidth = 32

// A kernel unpacks 8 values, of width bytes, at a time. TBL moves each value's bytes to its
// lane, USHL moves its first bit to the lane's, AND clears the bits after the value.
//
// At most 8 bytes (bitpack.Slack) after the values are read: up to 8 bits, a load has 8 bytes;
// up to 16 bits, one of 16 bytes has all values; above, a second one begins at the byte of value
// 4. A value of 27, 29, 30 or 31 bits can span 5 bytes: it goes through a lane of 64 bits.
func bitpack() *family {
	f := &family{}
	tables := []string{f.table("lanes", lanes()), f.table("wideLanes", wideLanes())}
	values := params("dst *uint32, src *byte, add uint32, width uint8, groups int")
	f.add(kernel{
		name: "unpackNEON", params: values, tables: tables,
		doc:  "unpackNEON writes 8*groups values of width bits, each plus add, to dst.\nIt reads up to 8 bytes after them; width is at most 32, groups at least 1.",
		body: "dup v16.4s, w2\n" + unpackBody(addToEach),
	})
	f.add(kernel{
		name: "unpackGapsNEON", params: values, tables: tables,
		doc:  "unpackGapsNEON writes the DocIDs after add, computed from 8*groups gaps minus one of width bits,\nto dst. It reads up to 8 bytes after them; width is at most 32, groups at least 1.",
		body: sumsStart + unpackBody(sums),
	})
	f.add(kernel{
		name: "prefixSumNEON", params: params("dst *[128]uint32, base uint32"),
		doc: "prefixSumNEON converts the gaps minus one in dst to DocIDs after base.",
		body: "mov w2, w1\n" + sumsStart + `
			mov w4, #16
			loop:
			ldp q1, q2, [x0]
			` + sums + `
			stp q1, q2, [x0], #32
			subs w4, w4, #1
			b.ne loop
		`,
	})
	return f
}

// These instructions convert two vectors of values to the stored results.
const (
	addToEach = `
		add v1.4s, v1.4s, v16.4s
		add v2.4s, v2.4s, v16.4s
	`
	// v16 has the last DocID in each lane. Only one addition and one DUP wait for the previous
	// group.
	sumsStart = `
		dup v16.4s, w2
		movi v22.4s, #1
		movi v23.4s, #0
	`
	sums = `
		add v1.4s, v1.4s, v22.4s
		add v2.4s, v2.4s, v22.4s
		ext v3.16b, v23.16b, v1.16b, #12
		ext v4.16b, v23.16b, v2.16b, #12
		add v1.4s, v1.4s, v3.4s
		add v2.4s, v2.4s, v4.4s
		ext v3.16b, v23.16b, v1.16b, #8
		ext v4.16b, v23.16b, v2.16b, #8
		add v1.4s, v1.4s, v3.4s
		add v2.4s, v2.4s, v4.4s
		dup v3.4s, v1.s[3]
		add v2.4s, v2.4s, v3.4s
		add v1.4s, v1.4s, v16.4s
		add v2.4s, v2.4s, v16.4s
		dup v16.4s, v2.s[3]
	`
)

func unpackBody(finish string) string {
	loop := func(name, loads, split string) string {
		return fmt.Sprintf("%s:\n%s\nadd x1, x1, x3\n%s%s\nstp q1, q2, [x0], #32\nsubs x4, x4, #1\nb.ne %s\nb end\n", name, loads, split, finish, name)
	}
	split := func(second string) string {
		return strings.ReplaceAll(`
			tbl v1.16b, {v0.16b}, v18.16b
			tbl v2.16b, {SECOND.16b}, v19.16b
			ushl v1.4s, v1.4s, v20.4s
			ushl v2.4s, v2.4s, v21.4s
			and v1.16b, v1.16b, v17.16b
			and v2.16b, v2.16b, v17.16b
		`, "SECOND", second)
	}
	return `
		mov x5, #1
		lsl x5, x5, x3
		sub x5, x5, #1
		dup v17.4s, w5
		lsr x6, x3, #1
		cmp w3, #27
		b.eq wide
		cmp w3, #29
		b.lo narrow
		cmp w3, #32
		b.lo wide

		narrow:
		add x9, x9, x3, lsl #6
		ldp q18, q19, [x9]
		ldp q20, q21, [x9, #32]
		cmp w3, #8
		b.ls loop8
		cmp w3, #16
		b.ls loop16
	` + loop("loop32", "ldr q0, [x1]\nldr q3, [x1, x6]", split("v3")) +
		loop("loop16", "ldr q0, [x1]", split("v0")) +
		loop("loop8", "ldr d0, [x1]", split("v0")) + `
		wide:
		sub w7, w3, #27
		add x10, x10, x7, lsl #7
		ldp q18, q19, [x10]
		ldp q20, q21, [x10, #32]
		ldp q24, q25, [x10, #64]
		ldp q26, q27, [x10, #96]
	` + loop("loopWide", "ldr q0, [x1]\nldr q3, [x1, x6]", `
		tbl v1.16b, {v0.16b}, v18.16b
		tbl v4.16b, {v0.16b}, v19.16b
		tbl v2.16b, {v3.16b}, v20.16b
		tbl v5.16b, {v3.16b}, v21.16b
		ushl v1.2d, v1.2d, v24.2d
		ushl v4.2d, v4.2d, v25.2d
		ushl v2.2d, v2.2d, v26.2d
		ushl v5.2d, v5.2d, v27.2d
		uzp1 v1.4s, v1.4s, v4.4s
		uzp1 v2.4s, v2.4s, v5.4s
		and v1.16b, v1.16b, v17.16b
		and v2.16b, v2.16b, v17.16b
	`) + `
		end:
	`
}

// firstBit returns the bit of a value among the 8 of a group, in the bytes that are loaded
// for it.
func firstBit(i, width int) int {
	if i >= 4 && width > 16 {
		return i*width - width/2*8
	}
	return i * width
}

// For each width: the bytes of values 0 to 3, the bytes of values 4 to 7, and their shifts.
func lanes() (t []byte) {
	for w := range maxWidth + 1 {
		for i := range 8 {
			for b := range 4 {
				t = append(t, byte(firstBit(i, w)/8+b))
			}
		}
		for i := range 8 {
			t = binary.LittleEndian.AppendUint32(t, uint32(-(firstBit(i, w) % 8)))
		}
	}
	return t
}

// The same for 64-bit lanes, of widths from 27.
func wideLanes() (t []byte) {
	for w := 27; w < maxWidth; w++ {
		for i := range 8 {
			for b := range 8 {
				t = append(t, byte(firstBit(i, w)/8+b))
			}
		}
		for i := range 8 {
			t = binary.LittleEndian.AppendUint64(t, uint64(-(firstBit(i, w) % 8)))
		}
	}
	return t
}
