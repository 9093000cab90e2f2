package traverse_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Queries of many short lists, with and without long ones, have the hits of the oracle, whatever is deleted. A few
// hundred lists exceed the bound of gathering.
func TestManyShortLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(98, 1))
	oracle, err := traverse.Lookup(traverse.Or, "exhaustive-daat")
	if err != nil {
		t.Fatal(err)
	}
	var s traverse.Scratch
	for i, numLists := range []int{7, 8, 9, 20, 60, 150, 400} {
		for _, numDocs := range []int{200, 30_000} {
			var lists [][]postingstest.Posting
			var weights []float64
			short := 0
			for range numLists {
				n := 1 + rng.IntN(codec.BlockLen)
				if rng.IntN(6) == 0 {
					n = min(codec.BlockLen+1+rng.IntN(3000), numDocs/2)
				}
				if n <= codec.BlockLen {
					short++
				}
				lists = append(lists, postingstest.RandomList(rng, postingstest.Shape(rng.IntN(3)), n, numDocs, false))
				weights = append(weights, []float64{1, 0.8, 0.6, 3, 1e-6}[rng.IntN(5)])
			}
			x := oneSegment(numDocs, weights, lists...)
			x.write(t, codec.SIMDBP{})
			q := x.queries(t)[0]
			gathers := short >= 8 && 2*short >= numLists
			if splits := traverse.Splits(traverse.Default(traverse.Or), q.Legs); splits == gathers {
				t.Errorf("%d short lists of %d: splits %v", short, numLists, splits)
			}
			if i%2 == 1 {
				q.Live = make([]uint64, (numDocs+63)/64)
				for j := range q.Live {
					q.Live[j] = ^(uint64(0b1101) << rng.IntN(64))
				}
				q.Live[len(q.Live)-1] &= 1<<(numDocs%64) - 1 // numDocs%64 is not 0
			}
			for _, k := range []int{1, 10, 1000, numDocs} {
				want := run(t, oracle, &s, []traverse.Query{q}, k)
				if got := run(t, traverse.Default(traverse.Or), &s, []traverse.Query{q}, k); !slices.Equal(got, want) {
					t.Fatalf("%d lists, %d documents, k=%d: %s", numLists, numDocs, k, difference(got, want))
				}
			}
		}
	}
}
