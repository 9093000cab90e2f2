package decode_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// Sums over a whole list equal sums within its blocks.
func TestSum(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 3, 4096, 4097, 12_290} {
		gaps, want := make([]uint32, n), make([]uint32, n)
		docID := ^uint32(0)
		for i := range gaps {
			gaps[i] = 1 + rng.Uint32N(1000)
			docID += gaps[i]
			want[i] = docID
		}
		values := gputest.Upload(r.Session, gaps)
		r.Must(r.kernels.Sum(r.Stream, values, gputest.Alloc[uint32](r.Session, decode.ScanWords(n))))
		got := make([]uint32, n)
		r.Must(cuda.CopyToHost(r.Stream, got, values))
		r.Must(r.Stream.Synchronize())
		if !slices.Equal(got, want) {
			t.Fatalf("%d gaps: the DocIDs are wrong", n)
		}
	}
}
