// Package qmx decodes codec "qmx", which describes the layout: blocks packed into 128-bit
// words.
//
// Functions accept arbitrary bytes, access nothing out of bounds, and report invalid encodings.
package qmx

//go:generate go -C ../../../tools/asm run ./qmx -out ../../internal/simd/qmx/qmx_amd64.s -stubs ../../internal/simd/qmx/stubs_amd64.go -pkg qmx
