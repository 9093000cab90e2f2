// Package simd selects the vector instructions that may be used. Subpackages hold the kernels,
// a family each: a pure-Go version (reference and fallback), and assembly for AVX2, AVX-512 and
// NEON, generated in tools/asm. NEON has no kernels of packages eliasfano and qmx, which use Go
// and, for packed values, package bitpack.
//
// The level is set at start from the processor and the operating system; GRIFFIN_SIMD lowers
// it. With the tag noasm, or on processors other than amd64 and arm64, there is only PureGo. Every level
// gives bit-identical results.
//
// Kernels are called once per block.
//
// The NEON kernels were only run in emulation, so their speed is not known. Instructions a value
// in the loops: unpacking 1.6 (above 16 bits 1.8, of 27, 29, 30 and 31 bits 2.5), unpacking DocIDs 3.3, prefix sums 2.4,
// contributions 5.8.
package simd
