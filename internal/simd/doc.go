// Package simd selects the vector instructions that may be used. Its subpackages hold the
// kernels, one family each: Go declarations, a pure-Go version that is the reference and
// fallback, and assembly for AVX2 and AVX-512, written by a generator in tools/asm.
//
// The level is set at start from the capabilities of the processor and the operating
// system. GRIFFIN_SIMD lowers it, for comparisons or to avoid faulty instructions. Programs
// built with the tag noasm, and processors other than amd64, have only PureGo. Every level
// gives bit-identical results.
//
// Kernels are called once per block, never once per value.
package simd
