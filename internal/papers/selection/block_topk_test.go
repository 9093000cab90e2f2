package selection_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// device/block_topk.cuh keeps the best k of keys in any order, with blocks of
// any size and repeated pushes after failures.
func TestBlockTopK(t *testing.T) {
	b := newBench(t)
	kernel := gputest.TopKKernel(t, b.Device)
	rng := rand.New(rand.NewPCG(13, 14))
	for round := range 60 {
		k := []int{1, 2, 10, 31, 32, 100, 255, 1000}[rng.IntN(8)]
		capacity := 2
		for capacity <= k || rng.IntN(2) == 0 && capacity < 4096 {
			capacity *= 2
		}
		threads := 32 * (1 + rng.IntN(8))
		keys := randomKeys(rng, rng.IntN(3000))
		threshold := uint64(0)
		if len(keys) > 0 && rng.IntN(3) == 0 {
			threshold = keys[rng.IntN(len(keys))]
		}
		want := slices.DeleteFunc(slices.Clone(keys), func(key uint64) bool { return key <= threshold })
		slices.Sort(want)
		slices.Reverse(want)
		want = want[:min(k, len(want))]

		out, count := gputest.Alloc[uint64](b.Session, k), gputest.Alloc[uint32](b.Session, 1)
		p := gputest.TopKParams{
			Keys: gputest.Upload(b.Session, keys).Ptr(), Out: out.Ptr(), Count: count.Ptr(), Threshold: threshold,
			NumKeys: uint32(len(keys)), Capacity: uint32(capacity), K: uint32(k), ByWarps: uint32(round % 2),
		}
		b.Must(cuda.Launch(b.Stream, kernel, cuda.D1(1), cuda.D1(threads), 8*capacity, &p))
		n := int(gputest.Download(b.Session, count)[0])
		if n > k {
			t.Fatalf("%d keys of k=%d", n, k)
		}
		if got := gputest.Download(b.Session, out.Slice(0, n)); !slices.Equal(got, want) {
			t.Fatalf("round %d, k=%d capacity=%d threads=%d keys=%d threshold=%#x:\n got %#x\nwant %#x", round, k, capacity, threads, len(keys), threshold, got, want)
		}
	}
}

// Distinct positive keys in one of several distributions.
func randomKeys(rng *rand.Rand, n int) []uint64 {
	keys := make([]uint64, n)
	switch rng.IntN(4) {
	case 0: // consecutive
		for i, j := range rng.Perm(n) {
			keys[i] = 1<<40 + uint64(j)
		}
	case 1: // ascending: each is better than all before
		for i := range keys {
			keys[i] = uint64(i+1) << 33
		}
	case 2: // few scores, any DocIDs
		for i := range keys {
			keys[i] = rng.Uint64N(3)<<32 + uint64(i+1)*1e6
		}
	default: // any, including the maximum
		for i := range keys {
			keys[i] = rng.Uint64()<<12 | uint64(i+1)
		}
		if n > 0 {
			keys[rng.IntN(n)] = ^uint64(0)
		}
	}
	return keys
}
