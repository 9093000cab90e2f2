package main

import "math/bits"

// Widths above 32 bits, Deposit and Extract are left to Go.
func column() *family {
	f := &family{}
	f.add(kernel{
		name: "widenNEON", params: params("dst *[128]int64, src *[128]uint32, add int64"),
		doc: "widenNEON writes 128 values, each plus add, to dst.",
		body: `
			dup v16.2d, x2
			mov w3, #16
			loop:
			ldp q0, q1, [x1], #32
			uxtl v2.2d, v0.2s
			uxtl2 v3.2d, v0.4s
			uxtl v4.2d, v1.2s
			uxtl2 v5.2d, v1.4s
			add v2.2d, v2.2d, v16.2d
			add v3.2d, v3.2d, v16.2d
			add v4.2d, v4.2d, v16.2d
			add v5.2d, v5.2d, v16.2d
			stp q2, q3, [x0], #32
			stp q4, q5, [x0], #32
			subs w3, w3, #1
			b.ne loop
		`,
	})
	f.inRange(f.table("bits", repeat(16, func(i int) []byte { return []byte{1 << (i % 8)} })))
	f.selected()
	return f
}

// A lane becomes a byte of one bit; additions of pairs gather 64 of them.
func (f *family) inRange(bits string) {
	test := each("0 4,1 5,2 6,3 7", `
		ldp q20, q21, [x1], #32
		ldp q22, q23, [x1], #32
		sub v20.4s, v20.4s, v16.4s
		sub v21.4s, v21.4s, v16.4s
		sub v22.4s, v22.4s, v16.4s
		sub v23.4s, v23.4s, v16.4s
		cmhs v20.4s, v17.4s, v20.4s
		cmhs v21.4s, v17.4s, v21.4s
		cmhs v22.4s, v17.4s, v22.4s
		cmhs v23.4s, v17.4s, v23.4s
		uzp1 v20.8h, v20.8h, v21.8h
		uzp1 v22.8h, v22.8h, v23.8h
		uzp1 v20.16b, v20.16b, v22.16b
		and vA.16b, v20.16b, v18.16b
	`)
	f.add(kernel{
		name: "rangeNEON", params: params("set *[2]uint64, values *[128]uint32, lo uint32, span uint32"), tables: []string{bits},
		doc: "rangeNEON sets the bits of the values from lo to lo+span.",
		body: `
			dup v16.4s, w2
			dup v17.4s, w3
			ldr q18, [x9]
			mov w4, #2
			loop:
			` + test + `
			addp v0.16b, v0.16b, v1.16b
			addp v2.16b, v2.16b, v3.16b
			addp v0.16b, v0.16b, v2.16b
			addp v0.16b, v0.16b, v0.16b
			str d0, [x0], #8
			subs w4, w4, #1
			b.ne loop
		`,
	})
}

// Four values at a time.
func (f *family) selected() {
	compress := f.table("compress", compressTable())
	counts := f.table("counts", repeat(16, func(i int) []byte { return []byte{byte(bits.OnesCount(uint(i)))} }))
	f.add(kernel{
		name: "selectNEON", params: params("dst *uint32, values *[128]uint32, set *[2]uint64"), results: params("n int"),
		tables: []string{compress, counts},
		doc:    "selectNEON writes the values whose bits are set to dst, and their number is its result.\nIt writes up to 4 values more.",
		body: `
			mov x3, x0
			mov w8, #2
			words:
			ldr x5, [x2], #8
			mov w4, #16
			loop:
			and x6, x5, #15
			lsr x5, x5, #4
			ldr q0, [x1], #16
			lsl x7, x6, #4
			ldr q1, [x9, x7]
			ldrb w7, [x10, x6]
			tbl v0.16b, {v0.16b}, v1.16b
			str q0, [x3]
			add x3, x3, x7, lsl #2
			subs w4, w4, #1
			b.ne loop
			subs w8, w8, #1
			b.ne words
			sub x0, x3, x0
			lsr x0, x0, #2
		`,
	})
}
