package gputest

import (
	_ "embed" // the image below
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/gputest_topk.ptx.zst
var topKImage []byte

// TopKParams are the parameters of gputest_block_topk (gputest_topk.cu).
type TopKParams struct {
	Keys, Out                     cuda.Ptr[uint64]
	Count                         cuda.Ptr[uint32]
	Threshold                     uint64
	NumKeys, Capacity, K, ByWarps uint32
}

// TopKKernel loads gputest_block_topk until the end of the test.
func TopKKernel(t testing.TB, d *cuda.Device) *cuda.Kernel {
	t.Helper()
	return kernel[TopKParams](t, d, "gputest_topk", topKImage, "gputest_block_topk")
}
