package main

// A word's lanes are of 32 bits, or of 64 in pairs of words.
func qmx() *family {
	f := &family{}
	common := `
		dup v16.4s, w5
		mov x6, #1
		lsl x6, x6, x4
		sub x6, x6, #1
		dup v17.4s, w6
		neg x4, x4
	`
	all := params("dst *uint32, words *byte, n int, fours int, bits int, add uint32")
	f.add(kernel{
		name: "decodeWordsNEON", params: all,
		doc: "decodeWordsNEON decodes n >= 1 words of 4*fours values of bits bits, each plus add.",
		body: common + `
			dup v18.4s, w4
			words:
			ldr q0, [x1], #16
			mov x7, x3
			loop:
			and v1.16b, v0.16b, v17.16b
			ushl v0.4s, v0.4s, v18.4s
			add v1.4s, v1.4s, v16.4s
			str q1, [x0], #16
			subs x7, x7, #1
			b.ne loop
			subs x2, x2, #1
			b.ne words
		`,
	})
	f.add(kernel{
		name: "decodePairsNEON", params: all,
		doc: "decodePairsNEON is decodeWordsNEON for n >= 1 pairs of words.",
		body: common + `
			dup v18.2d, x4
			words:
			ldp q2, q3, [x1], #32
			zip1 v0.4s, v2.4s, v3.4s
			zip2 v1.4s, v2.4s, v3.4s
			mov x7, x3
			loop:
			uzp1 v4.4s, v0.4s, v1.4s
			ushl v0.2d, v0.2d, v18.2d
			ushl v1.2d, v1.2d, v18.2d
			and v4.16b, v4.16b, v17.16b
			add v4.4s, v4.4s, v16.4s
			str q4, [x0], #16
			subs x7, x7, #1
			b.ne loop
			subs x2, x2, #1
			b.ne words
		`,
	})
	return f
}
