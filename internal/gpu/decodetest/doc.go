// Package decodetest has variants of kernels of package decode, which its
// benchmark BenchmarkTune compares on a device, for the constants of
// simdbp.cuh, ef.cuh and tuning.go.
package decodetest

import _ "embed" // the image below

// Image is the compressed PTX of the variants.
//
//go:embed image/decodetest.ptx.zst
var Image []byte

// Variants are suffixes of kernels decodetest_simdbp_….
var Variants = []string{"1_12", "1_16", "2_8", "2_10", "2_12", "2_16", "4_8", "4_10"}

// EFBlocks are suffixes of kernels decodetest_ef_…: thread blocks per
// multiprocessor.
var EFBlocks = []int{8, 10, 12, 16}
