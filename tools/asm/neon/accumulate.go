package main

import (
	"fmt"
	"strings"
)

// Scatter needs no vectors: the Go version is used.
func accumulate() *family {
	f := &family{}
	// The bit of each lane, and for bytes the byte of a word that has it.
	bits8 := f.table("bits8", repeat(16, func(i int) []byte { return []byte{1 << (i % 8)} }))
	spread8 := f.table("spread8", repeat(64, func(i int) []byte { return []byte{byte(i / 8)} }))
	bits16 := f.table("bits16", repeat(8, func(i int) []byte { return []byte{1 << i, 0} }))
	bits32 := f.table("bits32", repeat(8, func(i int) []byte { return words32(1 << i) }))
	bitmap := func(bits int, tables []string, start, word string) {
		f.add(kernel{
			name:   fmt.Sprintf("bitmap%dNEON", bits),
			params: params(fmt.Sprintf("acc *uint%d, words *byte, n int, v uint%d", bits, bits)), tables: tables,
			doc: fmt.Sprintf("bitmap%dNEON processes n >= 1 words.", bits),
			body: start + `
				loop:
				ldr x5, [x1], #8
				cbz x5, next
				` + word + `
				next:
				add x0, x0, #` + fmt.Sprint(64*bits/8) + `
				subs x2, x2, #1
				b.ne loop
			`,
		})
	}
	bitmap(8, []string{bits8, spread8}, `
		dup v16.16b, w3
		ldr q17, [x9]
		ldp q18, q19, [x10]
		ldp q20, q21, [x10, #32]
	`, `
		fmov d0, x5
		ldp q1, q2, [x0]
		ldp q3, q4, [x0, #32]
	`+each("1 18,2 19,3 20,4 21", `
		tbl v5.16b, {v0.16b}, vB.16b
		cmtst v5.16b, v5.16b, v17.16b
		and v5.16b, v5.16b, v16.16b
		add vA.16b, vA.16b, v5.16b
	`)+`
		stp q1, q2, [x0]
		stp q3, q4, [x0, #32]
	`)
	// A lane also has bits of the word that its own bit does not test.
	bitmap(16, []string{bits16}, `
		dup v16.8h, w3
		ldr q17, [x9]
	`, each("0 0,16 8,32 16,48 24,64 32,80 40,96 48,112 56", `
		ldr q1, [x0, #A]
		lsr x6, x5, #B
		dup v0.8h, w6
		cmtst v0.8h, v0.8h, v17.8h
		and v0.16b, v0.16b, v16.16b
		add v1.8h, v1.8h, v0.8h
		str q1, [x0, #A]
	`))
	bitmap(32, []string{bits32}, `
		dup v16.4s, w3
		ldp q17, q18, [x9]
	`, each("0 0,32 8,64 16,96 24,128 32,160 40,192 48,224 56", `
		ldp q1, q2, [x0, #A]
		lsr x6, x5, #B
		dup v0.4s, w6
		cmtst v3.4s, v0.4s, v17.4s
		cmtst v4.4s, v0.4s, v18.4s
		and v3.16b, v3.16b, v16.16b
		and v4.16b, v4.16b, v16.16b
		add v1.4s, v1.4s, v3.4s
		add v2.4s, v2.4s, v4.4s
		stp q1, q2, [x0, #A]
	`))
	f.drain(8, "16b", "b")
	f.drain(16, "8h", "h")
	f.drain(32, "4s", "s")
	return f
}

// drain finds the greatest of a line.
func (f *family) drain(bits int, arrangement, element string) {
	vectors := bits / 2
	var load, zero strings.Builder
	for i := 0; i < vectors; i += 2 {
		to := 2
		if i == 0 {
			to = 0
		}
		fmt.Fprintf(&load, "ldp q%d, q%d, [x0, #%d]\n", to, to+1, 16*i)
		if i > 0 {
			fmt.Fprintf(&load, "umax v0.%[1]s, v0.%[1]s, v2.%[1]s\numax v1.%[1]s, v1.%[1]s, v3.%[1]s\n", arrangement)
		}
		fmt.Fprintf(&zero, "stp q4, q4, [x0, #%d]\n", 16*i)
	}
	f.add(kernel{
		name:   fmt.Sprintf("drain%dNEON", bits),
		params: params(fmt.Sprintf("acc *uint%d, lines int, least uint%d", bits, bits)), results: params("done int"),
		doc: fmt.Sprintf("drain%dNEON processes up to lines lines, at least 1; done counts those before the first that\nreached least.", bits),
		body: `
			movi v4.16b, #0
			mov x3, #0
			loop:
			` + load.String() + fmt.Sprintf("umax v0.%[1]s, v0.%[1]s, v1.%[1]s\numaxv %[2]s0, v0.%[1]s\n", arrangement, element) + `
			fmov w4, s0
			cmp w4, w2
			b.hs end
			cbz w4, next
			` + zero.String() + `
			next:
			add x0, x0, #` + fmt.Sprint(8*bits) + `
			add x3, x3, #1
			cmp x3, x1
			b.lo loop
			end:
			mov x0, x3
		`,
	})
}

// each repeats text for pairs "A B,A B".
func each(pairs, text string) string {
	var b strings.Builder
	for pair := range strings.SplitSeq(pairs, ",") {
		first, second, _ := strings.Cut(pair, " ")
		b.WriteString(strings.NewReplacer("vA", "v"+first, "vB", "v"+second, "#A", "#"+first, "#B", "#"+second).Replace(text))
	}
	return b.String()
}

func repeat(n int, value func(i int) []byte) (t []byte) {
	for i := range n {
		t = append(t, value(i)...)
	}
	return t
}
