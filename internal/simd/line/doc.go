// Package line computes blocks of DocIDs from their deviations from a line (ao11).
//
// Functions access only dst.
package line

//go:generate go -C ../../../tools/asm run ./line -out ../../internal/simd/line/line_amd64.s -stubs ../../internal/simd/line/stubs_amd64.go -pkg line
//go:generate go -C ../../../tools/asm run ./neon line
