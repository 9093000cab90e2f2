// Package decodetest has variants of kernels of package decode, which its benchmark
// BenchmarkTune compares on a device: what they find belongs into the constants of
// simdbp.cuh and ef.cuh, and into tuning.go. They are no part of the product.
package decodetest

import _ "embed" // the image below

// Image is the PTX of the variants.
//
//go:embed image/decodetest.ptx
var Image []byte

// Variants are the ends of the names of the kernels decodetest_simdbp_….
var Variants = []string{"1_12", "1_16", "2_8", "2_10", "2_12", "2_16", "4_8", "4_10"}

// EFBlocks are the ends of the names of the kernels decodetest_ef_…: how many blocks of
// threads a multiprocessor has registers for.
var EFBlocks = []int{8, 10, 12, 16}
