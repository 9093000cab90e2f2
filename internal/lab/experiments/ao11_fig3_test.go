package experiments

import (
	"math"
	"testing"
)

// 4 DocIDs out of 10 documents in buckets of 4 give two buckets with p = 0.4
// and one with p = 0.2. Two DocIDs are in one of the former with probability 6
// * 0.4^2 * 0.6^2 = 0.3456, in the latter with 6 * 0.2^2 * 0.8^2 = 0.1536.
func TestAddBinomial(t *testing.T) {
	bySize := make([]float64, 5)
	addBinomial(bySize, 4, 4, 10)
	if want := 2*0.3456 + 0.1536; math.Abs(bySize[2]-want) > 1e-12 {
		t.Errorf("buckets of 2: %v, want %v", bySize[2], want)
	}
	sum := bySize[0]
	for size, n := range bySize {
		sum += float64(size) * n
	}
	if math.Abs(sum-4) > 1e-12 {
		t.Errorf("%v DocIDs in all buckets, want 4", sum)
	}
	whole := make([]float64, 5)
	addBinomial(whole, 4, 16, 10)
	if whole[4] != 1 {
		t.Errorf("one bucket for all: %v", whole)
	}
}
