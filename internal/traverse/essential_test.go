package traverse_test

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/traverse"
)

// With k of a list's own Kth, lists with small bounds are excluded. With deletions, no
// threshold is known.
func TestEssential(t *testing.T) {
	rng := rand.New(rand.NewPCG(88, 1))
	fewer := 0
	for range 60 {
		x := withLegs(t, rng, 3)
		for _, q := range x.queries(t) {
			all := int64(0)
			for i := range q.Legs {
				all += int64(q.Legs[i].List.DocFreq)
			}
			got := traverse.Essential(q.Legs, 10, nil)
			if got < 0 || got > all {
				t.Fatalf("%s: %d of %d postings are essential", x.name, got, all)
			}
			if got < all {
				fewer++
			}
			if at := traverse.EssentialAt(q.Legs, 10, nil, 1.2); at > got || at < 0 {
				t.Fatalf("%s: %d postings are essential, at a higher threshold %d", x.name, got, at)
			}
			if at := traverse.EssentialAt(q.Legs, 10, nil, 0); at != all {
				t.Fatalf("%s: %d of %d postings are essential without a threshold", x.name, at, all)
			}
			if got := traverse.Essential(q.Legs, 10, make([]uint64, 1)); got != all {
				t.Fatalf("%s: %d of %d postings are essential though documents are deleted", x.name, got, all)
			}
			if n := testing.AllocsPerRun(4, func() { traverse.Essential(q.Legs, 10, nil) }); n != 0 {
				t.Fatalf("%v allocations", n)
			}
		}
	}
	if fewer == 0 {
		t.Error("no query had a list that is not essential")
	}
}
