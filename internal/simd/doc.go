// Package simd says which vector instructions may be used. The packages below it
// hold the kernels, one family each: Go declarations, a pure-Go version that is
// the reference and always there, and assembly for AVX2 and AVX-512 that a
// generator in tools/asm writes.
//
// The level is found at start from what the processor and the operating system
// can do. GRIFFIN_SIMD lowers it, to compare or to keep clear of a broken
// machine; programs built with the tag noasm, and processors other than amd64,
// have PureGo only. Every level gives the same results, bit for bit.
//
// A kernel is called once a block, never once a value.
package simd
