package main

import "strings"

func scoring() *family {
	f := &family{}
	compress := f.table("compress", compressTable())
	// A lane adds its bit, and 1 to the number in the upper half.
	marks := f.table("marks", words32(0x10001, 0x10002, 0x10004, 0x10008))
	iota4 := f.table("iota4", words32(0, 1, 2, 3))
	f.contributions()
	f.match()
	f.collect(compress, marks, iota4)
	f.add(kernel{
		name: "selectNEON", params: params("toDocIDs *uint32, toScores *uint32, docIDs *uint32, scores *uint32, n int, least uint32"),
		results: params("found int"), tables: []string{compress, marks},
		doc: "selectNEON reads n documents, a multiple of 4 and at least 4.",
		body: `
			dup v16.4s, w5
			ldr q17, [x10]
			mov x14, #0
			loop:
			ldr q0, [x2], #16
			ldr q1, [x3], #16
			` + compressed + `
			str q0, [x0, x14]
			str q1, [x1, x14]
			add x14, x14, x7, lsl #2
			subs x4, x4, #4
			b.ne loop
			lsr x0, x14, #2
		`,
	})
	f.add(kernel{
		name: "prefetchNEON", params: params("p *byte, n int"),
		doc: "prefetchNEON loads the cache lines of n >= 1 bytes, without waiting for them.",
		body: `
			add x1, x1, x0
			loop:
			prfm pldl1keep, [x0]
			add x0, x0, #64
			cmp x0, x1
			b.lo loop
		`,
	})
	return f
}

// Of v0 (DocIDs) and v1 (scores), keeps the lanes with a score of at least v16. x7 is their
// number. v17 is the table marks, x9 the table compress.
const compressed = `
	cmhs v2.4s, v1.4s, v16.4s
	and v2.16b, v2.16b, v17.16b
	addv s2, v2.4s
	fmov w7, s2
	ubfiz x8, x7, #4, #4
	lsr w7, w7, #16
	ldr q3, [x9, x8]
	tbl v0.16b, {v0.16b}, v3.16b
	tbl v1.16b, {v1.16b}, v3.16b
`

// Four postings at a time. The lengths are loaded one by one: there is no gather.
func (f *family) contributions() {
	constants := `
		dup v16.4s, v0.s[0]
		dup v17.4s, v1.s[0]
		dup v18.4s, v2.s[0]
		fmov v19.4s, #0.5
	`
	all := params("dst *uint32, docIDs *uint32, freqs *uint32, lengths *uint32, n int, weight float32, c0 float32, c1 float32")
	f.add(kernel{
		name: "contributionsNEON", params: all,
		doc: "contributionsNEON scores n postings, a multiple of 4 and at least 4.",
		body: constants + `
			loop:
			ldp w5, w6, [x1]
			ldp w7, w8, [x1, #8]
			add x1, x1, #16
			add x6, x3, x6, lsl #2
			add x7, x3, x7, lsl #2
			add x8, x3, x8, lsl #2
			ldr s0, [x3, x5, lsl #2]
			ld1 {v0.s}[1], [x6]
			ld1 {v0.s}[2], [x7]
			ld1 {v0.s}[3], [x8]
			ldr q1, [x2], #16
			ucvtf v0.4s, v0.4s
			ucvtf v1.4s, v1.4s
			fmul v0.4s, v0.4s, v18.4s
			fmul v2.4s, v1.4s, v16.4s
			fadd v0.4s, v0.4s, v17.4s
			fadd v0.4s, v0.4s, v1.4s
			fdiv v0.4s, v2.4s, v0.4s
			fadd v0.4s, v0.4s, v19.4s
			fcvtzu v0.4s, v0.4s
			str q0, [x0], #16
			subs x4, x4, #4
			b.ne loop
		`,
	})
	f.add(kernel{
		name: "contributionsNEONLinear", params: params("dst *uint32, freqs *uint32, n int, weight float32"),
		doc: "contributionsNEONLinear scores n postings, a multiple of 4 and at least 4.",
		body: `
			dup v16.4s, v0.s[0]
			fmov v19.4s, #0.5
			loop:
			ldr q1, [x1], #16
			ucvtf v1.4s, v1.4s
			fmul v1.4s, v1.4s, v16.4s
			fadd v1.4s, v1.4s, v19.4s
			fcvtzu v1.4s, v1.4s
			str q1, [x0], #16
			subs x2, x2, #4
			b.ne loop
		`,
	})
}

// As a table of two levels: the number of chunks of 8 whose last is below the DocID, then of
// values in the next chunk. v20 to v23 hold the last of the 16 chunks.
func (f *family) match() {
	var lasts strings.Builder
	for _, v := range []string{"v20", "v21", "v22", "v23"} {
		for _, lane := range []string{"0", "1", "2", "3"} {
			lasts.WriteString("ld1 {" + v + ".s}[" + lane + "], [x9], x10\n")
		}
	}
	f.add(kernel{
		name: "matchNEON", params: params("of *uint8, at *uint8, docIDs *uint32, n int, block *uint32, last uint32"),
		results: params("looked int, matches int"),
		doc:     "matchNEON looks up n >= 1 DocIDs.",
		body: `
			add x9, x4, #28
			mov x10, #32
			` + lasts.String() + `
			mov x6, #0
			mov x7, #0
			mov w15, #15
			mov w16, #127
			loop:
			ldr w8, [x2, x6, lsl #2]
			cmp w8, w5
			b.hi end
			dup v0.4s, w8
			cmhi v1.4s, v0.4s, v20.4s
			cmhi v2.4s, v0.4s, v21.4s
			cmhi v3.4s, v0.4s, v22.4s
			cmhi v4.4s, v0.4s, v23.4s
			add v1.4s, v1.4s, v2.4s
			add v3.4s, v3.4s, v4.4s
			add v1.4s, v1.4s, v3.4s
			addv s1, v1.4s
			fmov w11, s1
			neg w11, w11
			cmp w11, w15
			csel w11, w11, w15, lo
			add x12, x4, x11, lsl #5
			ldp q2, q3, [x12]
			cmhi v2.4s, v0.4s, v2.4s
			cmhi v3.4s, v0.4s, v3.4s
			add v2.4s, v2.4s, v3.4s
			addv s2, v2.4s
			fmov w12, s2
			lsl w11, w11, #3
			sub w11, w11, w12
			cmp w11, w16
			csel w11, w11, w16, lo
			ldr w12, [x4, x11, lsl #2]
			and x13, x7, #127
			strb w6, [x0, x13]
			strb w11, [x1, x13]
			cmp w12, w8
			cinc x7, x7, eq
			add x6, x6, #1
			cmp x6, x3
			b.ne loop
			end:
			mov x0, x6
			mov x1, x7
		`,
	})
}

// Marks are read 8 at a time.
func (f *family) collect(compress, marks, iota4 string) {
	quarter := `
		ldr q1, [x11, #AT]
		str q20, [x11, #AT]
		mov v0.16b, v18.16b
		add v18.4s, v18.4s, v19.4s
		` + compressed + `
		str q0, [x2, x14]
		str q1, [x3, x14]
		add x14, x14, x7, lsl #2
	`
	var line strings.Builder
	for _, at := range []string{"0", "16", "32", "48"} {
		line.WriteString(strings.ReplaceAll(quarter, "AT", at))
	}
	f.add(kernel{
		name: "collectNEON", params: params("sums *uint32, marks *uint8, toDocIDs *uint32, toSums *uint32, first uint32, lines int, least uint32"),
		results: params("found int"), tables: []string{compress, marks, iota4},
		doc: "collectNEON reads lines of 16 sums, rounded up to a multiple of 8 lines.",
		body: `
			dup v16.4s, w6
			ldr q17, [x10]
			ldr q21, [x11]
			movi v19.4s, #4
			movi v20.4s, #0
			mov x14, #0
			mov x15, #0
			words:
			ldr x12, [x1, x15]
			cbz x12, next
			str xzr, [x1, x15]
			marked:
			rbit x13, x12
			clz x13, x13
			lsr x13, x13, #3
			lsl x16, x13, #3
			mov x17, #255
			lsl x17, x17, x16
			bic x12, x12, x17
			add x13, x13, x15
			add x11, x0, x13, lsl #6
			add w16, w4, w13, lsl #4
			dup v18.4s, w16
			add v18.4s, v18.4s, v21.4s
			` + line.String() + `
			cbnz x12, marked
			next:
			add x15, x15, #8
			cmp x15, x5
			b.lo words
			lsr x0, x14, #2
		`,
	})
}
