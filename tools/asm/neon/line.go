package main

// Points of the line are in lanes of 64 bits, whose upper halves are added. v7 marks the lane
// that has no value before it.
func line() *family {
	f := &family{}
	f.add(kernel{
		name: "addNEON", params: params("dst *[128]uint32, start uint64, slope uint64"), results: params("rising bool"),
		doc: "addNEON is AddTail for a whole block.",
		body: `
			add x3, x1, x2
			fmov d0, x1
			mov v0.d[1], x3
			lsl x4, x2, #1
			dup v2.2d, x4
			add v1.2d, v0.2d, v2.2d
			add v2.2d, v2.2d, v2.2d
			movi v3.16b, #0
			movi v5.16b, #255
			movi v7.16b, #0
			mov w6, #-1
			mov v7.s[0], w6
			mov w5, #32
			loop:
			ldr q4, [x0]
			uzp2 v6.4s, v0.4s, v1.4s
			add v0.2d, v0.2d, v2.2d
			add v1.2d, v1.2d, v2.2d
			add v4.4s, v4.4s, v6.4s
			str q4, [x0], #16
			ext v6.16b, v3.16b, v4.16b, #12
			cmhi v6.4s, v4.4s, v6.4s
			orr v6.16b, v6.16b, v7.16b
			and v5.16b, v5.16b, v6.16b
			movi v7.16b, #0
			mov v3.16b, v4.16b
			subs w5, w5, #1
			b.ne loop
			uminv s5, v5.4s
			fmov w0, s5
			and w0, w0, #1
		`,
	})
	return f
}
