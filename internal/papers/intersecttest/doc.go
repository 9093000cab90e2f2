// Package intersecttest has variants of the merge kernel of package intersect,
// which its benchmark BenchmarkTune compares on a device, for tuning.go and
// intersect_merge.cu.
package intersecttest

import _ "embed" // the image below

// Image is the compressed PTX of the variants.
//
//go:embed image/intersecttest.ptx.zst
var Image []byte

// Variant is a kernel intersecttest_merge_…: elements per thread, and blocks
// per multiprocessor that its registers allow.
type Variant struct{ Items, Blocks int }

// Variants lists all variants.
var Variants = []Variant{
	{7, 1},
	{7, 8},
	{11, 1},
	{11, 6},
	{11, 8},
	{15, 1},
	{15, 5},
	{15, 6},
	{15, 8},
	{19, 1},
	{19, 5},
	{23, 1},
	{23, 4},
	{31, 1},
}
