package postings_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/score"
)

func TestBoundsAgainstSlice(t *testing.T) {
	lengths, lists := collection(false)
	opts := postings.Options{Codec: codec.SIMDBP{}, Saturation: saturation}
	ix := postingstest.Write(t, opts, lengths, 128, lists...)
	rng := rand.New(rand.NewPCG(9, 9))
	for i, list := range lists {
		l := ix.Open(t, i)
		for _, s := range []score.Saturation{
			saturation,
			{BM25: score.BM25{K1: 2, B: 1}, AvgLen: 30},
			{BM25: score.BM25{K1: 0, B: 0.3}, AvgLen: 60},
			{BM25: score.BM25{K1: rng.Float32() * 3, B: rng.Float32()}, AvgLen: 1 + 200*rng.Float64()},
		} {
			var want []score.Bound
			for from := 0; from < len(list); from += codec.BlockLen {
				var bound score.Bound
				for _, p := range list[from:min(len(list), from+codec.BlockLen)] {
					bound = max(bound, s.Upper(p.Freq, lengths[p.DocID]))
				}
				want = append(want, bound)
			}
			got, gotMax, err := l.FrontierBounds(nil, s)
			if err != nil || !slices.Equal(got, want) || len(want) > 0 && gotMax != slices.Max(want) {
				t.Fatalf("list %d of %d: FrontierBounds: max %d, err %v\n got %v\nwant %v", i, len(list), gotMax, err, got, want)
			}
			if s != saturation {
				continue
			}
			for b := range want {
				if l.Block(b).Bound != want[b] {
					t.Fatalf("list %d: block %d has bound %d, want %d", i, b, l.Block(b).Bound, want[b])
				}
			}
			if len(want) > 0 && l.Max != gotMax {
				t.Fatalf("list %d: Max %d, want %d", i, l.Max, gotMax)
			}
		}
		var lower []score.Bound
		for _, p := range list {
			bound, _ := saturation.Bounds(p.Freq, lengths[p.DocID])
			lower = append(lower, bound)
		}
		slices.Sort(lower)
		for j, k := range postings.Kth {
			var want score.Bound
			if len(lower) >= k {
				want = lower[len(lower)-k]
			}
			if l.Kth[j] != want {
				t.Fatalf("list %d of %d: Kth for %d is %d, want %d", i, len(list), k, l.Kth[j], want)
			}
		}
	}
}
