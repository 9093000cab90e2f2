// Package qmx decodes blocks of values in words of 128 bits, several to a word:
// the kernels of codec "qmx", whose comment shows the layout. Selectors holds what
// each selector means.
//
// Decode and DecodeGaps trust nothing: on any bytes they read and write within
// bounds, and say whether the bytes are an encoding. They have no state and
// allocate nothing.
package qmx

//go:generate go -C ../../../tools/asm run ./qmx -out ../../internal/simd/qmx/qmx_amd64.s -stubs ../../internal/simd/qmx/stubs_amd64.go -pkg qmx
