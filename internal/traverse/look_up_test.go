package traverse_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// The documents may be given as a list. Those whose contributions are 0 are hits of an Or, others without a
// contribution are not.
func TestLookUpDocs(t *testing.T) {
	rng := rand.New(rand.NewPCG(97, 1))
	const numDocs = 9000
	var s traverse.Scratch
	zeros := 0
	for range 30 {
		weights := []float64{1, 1e-6, 0.3}
		x := oneSegment(numDocs, weights[:1+rng.IntN(3)],
			postingstest.RandomList(rng, postingstest.Uniform, 1+rng.IntN(3000), numDocs, false),
			postingstest.RandomList(rng, postingstest.Clustered, 1+rng.IntN(6000), numDocs, false),
			postingstest.RandomList(rng, postingstest.Dense, 1+rng.IntN(8000), numDocs, false))
		x.write(t, codec.SIMDBP{})
		q := x.queries(t)[0]
		q.Docs = []uint32{}
		q.Live = make([]uint64, (numDocs+63)/64)
		for n := rng.IntN(3000); n > 0; n-- {
			d := rng.IntN(numDocs)
			q.Live[d/64] |= 1 << (d % 64)
		}
		for d := range uint32(numDocs) {
			if q.Live[d/64]>>(d%64)&1 != 0 {
				q.Docs = append(q.Docs, d)
			}
		}
		for _, mode := range []traverse.Mode{traverse.Or, traverse.And} {
			for _, k := range []int{1, 10, 1000, numDocs} {
				oracle, err := traverse.Lookup(mode, "exhaustive-daat")
				if err != nil {
					t.Fatal(err)
				}
				want := run(t, oracle, &s, []traverse.Query{q}, k)
				docs := q
				docs.Live = nil
				for _, given := range []traverse.Query{q, docs} {
					if got := run(t, traverse.LookUp(mode), &s, []traverse.Query{given}, k); !slices.Equal(got, want) {
						t.Fatalf("%s, k=%d, %d documents: %s", mode, k, len(q.Docs), difference(got, want))
					}
				}
				if n := len(want); n > 0 && want[n-1].Score == 0 && mode == traverse.Or {
					zeros++
				}
			}
		}
	}
	if zeros == 0 {
		t.Error("no hit has a score of 0")
	}
}

// A queue for no hits takes none.
func TestLookUpNothing(t *testing.T) {
	x := oneSegment(300, []float64{1}, listOf(0, 1, 300, always(1)))
	x.write(t, codec.SIMDBP{})
	q := x.queries(t)[0]
	var s traverse.Scratch
	var queue topk.Queue
	queue.Reset(0)
	if err := traverse.LookUp(traverse.Or).Run(t.Context(), &s, &q, &queue); err != nil || queue.Len() != 0 {
		t.Errorf("%d hits, %v", queue.Len(), err)
	}
	q.Docs, q.Live = []uint32{7}, nil
	queue.Reset(10)
	if err := traverse.LookUp(traverse.Or).Run(t.Context(), &s, &q, &queue); err != nil {
		t.Error(err)
	}
	if hits := queue.AppendSorted(nil); len(hits) != 1 || hits[0].DocID != base.DocID(7) {
		t.Errorf("hits %v, want document 7", hits)
	}
}
