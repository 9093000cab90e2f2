// Package qmx decodes blocks packed into 128-bit words, for codec "qmx", which describes the
// layout.
//
// Decode and DecodeGaps accept arbitrary bytes, access nothing out of bounds, and report
// whether the bytes are a valid encoding.
package qmx

//go:generate go -C ../../../tools/asm run ./qmx -out ../../internal/simd/qmx/qmx_amd64.s -stubs ../../internal/simd/qmx/stubs_amd64.go -pkg qmx
