// Package decodetest has variants of kernels of package decode, which its benchmark
// BenchmarkTune compares on a device: what they find belongs into the constants of
// simdbp.cuh and ef.cuh, and into tuning.go. They are no part of the product.
package decodetest

import _ "embed" // the image below

// Image is the PTX of the variants.
//
//go:embed image/decodetest.ptx
var Image []byte

// Variants are the ends of the names of the kernels, decodetest_simdbp_… and
// decodetest_ef_….
var Variants = []string{"1_1", "1_4", "1_6", "1_8", "2_1", "2_4", "2_6", "2_8", "4_1", "4_4", "4_6"}
