// Package simd selects the vector instructions that may be used. Its subpackages hold the
// kernels, one family each: a pure-Go version (reference and fallback), and assembly for AVX2
// and AVX-512, written by a generator in tools/asm.
//
// The level is set at start from the processor and the operating system; GRIFFIN_SIMD lowers
// it. The tag noasm, and processors other than amd64, have only PureGo. Every level gives
// bit-identical results.
//
// Kernels are called once per block.
package simd
