// Package decodetest has variants of kernels of package decode, which its
// benchmark BenchmarkTune compares on a device. Results of the comparison go
// into the constants of simdbp.cuh and ef.cuh, and into tuning.go. The variants
// are not part of the product.
package decodetest

import _ "embed" // the image below

// Image is the PTX of the variants.
//
//go:embed image/decodetest.ptx
var Image []byte

// Variants are the suffixes of the kernels decodetest_simdbp_….
var Variants = []string{"1_12", "1_16", "2_8", "2_10", "2_12", "2_16", "4_8", "4_10"}

// EFBlocks are the suffixes of the kernels decodetest_ef_…: thread blocks per
// multiprocessor.
var EFBlocks = []int{8, 10, 12, 16}
