// Package simd selects the vector instructions that may be used. Subpackages hold the kernels,
// a family each: a pure-Go version (reference and fallback), and assembly for AVX2 and AVX-512,
// generated in tools/asm.
//
// The level is set at start from the processor and the operating system; GRIFFIN_SIMD lowers
// it. With the tag noasm, or on processors other than amd64, there is only PureGo. Every level
// gives bit-identical results.
//
// Kernels are called once per block.
package simd
