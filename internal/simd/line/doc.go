// Package line computes DocIDs from their deviations from a line, a block at a time, for
// the codecs that approximate lists by lines (ao11).
//
// Functions have no state. They access only dst.
package line

//go:generate go -C ../../../tools/asm run ./line -out ../../internal/simd/line/line_amd64.s -stubs ../../internal/simd/line/stubs_amd64.go -pkg line
