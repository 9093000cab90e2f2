package traverse_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Extreme boosts give sums of more than 32 bits.
func TestScoresBeyond32Bits(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	var s traverse.Scratch
	found := base.Score(0)
	for range 20 {
		x := randomCollection(t, rng, codec.SIMDBP{}, natural, rng.IntN(2) == 0)
		if len(x.terms) < 3 || x.linear { // another kind of term would not match the bounds
			continue
		}
		for i := range x.terms {
			x.terms[i] = x.bm25.NewTerm(30000+float64(rng.IntN(20000)), 1, x.avgLen)
		}
		queries := x.queries(t)
		for _, mode := range []traverse.Mode{traverse.Or, traverse.And} {
			all := x.oracle(mode)
			for _, hit := range all {
				found = max(found, hit.Score)
			}
			for _, name := range traverse.Names(mode) {
				tr, err := traverse.Lookup(mode, name)
				if err != nil {
					t.Fatal(err)
				}
				want := all[:min(10, len(all))]
				if got := run(t, tr, &s, queries, 10); !slices.Equal(got, want) {
					t.Fatalf("%s: %s %s: %s", x.name, mode, name, difference(got, want))
				}
			}
		}
	}
	if found < 1<<32 {
		t.Errorf("the greatest score is %d, want more than 32 bits", found)
	}
}
