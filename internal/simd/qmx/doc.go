// Package qmx decodes blocks of values packed into 128-bit words: the kernels of codec
// "qmx", whose comment describes the layout. Selectors lists the ways to fill words.
//
// Decode and DecodeGaps accept arbitrary bytes. They read and write within bounds and
// report whether the bytes are a valid encoding. They have no state and do not allocate.
package qmx

//go:generate go -C ../../../tools/asm run ./qmx -out ../../internal/simd/qmx/qmx_amd64.s -stubs ../../internal/simd/qmx/stubs_amd64.go -pkg qmx
