package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/query"
)

// Matches is how many hits there are if all are asked for, for trees and flat queries,
// of every mode, whatever k is.
func TestCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	ix := randomIndex(t, rng, 300, 3, true)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	s := NewSearcher(testSnapshot(t, ix), nil)
	sc := testScratch(t, "whitespace")
	flat := 0
	for i := range 300 {
		mode := Mode(rng.IntN(4))
		var q query.Node = &query.Words{Text: randomWords(rng, 1+rng.IntN(4)), Boost: 1}
		if mode != ModeSaat && i%2 == 0 {
			q = randomNode(rng, 3)
		}
		all := answer(t, s, sc, q, Options{Mode: mode, K: 1000})
		for _, k := range []int{1, 10, 1000} {
			a := answer(t, s, sc, q, Options{Mode: mode, K: k, Count: true})
			want := int64(len(all.Hits))
			if a.Mode != all.Mode { // of ModeAndOr, which gave too few for 1000
				want = int64(len(answer(t, s, sc, q, Options{Mode: a.Mode, K: 1000}).Hits))
			}
			if a.Matches != want {
				t.Fatalf("%s in mode %s, k=%d: %d documents match, want %d", q, mode, k, a.Matches, want)
			}
		}
		if all.Traversal != treeTraversal {
			flat++
		}
	}
	if flat < 100 || flat > 280 {
		t.Errorf("%d of 300 queries were flat: want some of both", flat)
	}
	if a := answer(t, s, sc, parse(t, "w1"), Options{K: 10}); a.Matches != 0 {
		t.Errorf("%d matches were counted, though nobody asked", a.Matches)
	}
}
