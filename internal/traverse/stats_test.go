package traverse_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

func TestStatsExact(t *testing.T) {
	pruning, err := traverse.Lookup(traverse.Or, "block-max-pruning")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range statsCollections(t) {
		queries := x.queries(t)
		for _, tr := range allTraversals(t) {
			for _, k := range []int{1, 10, 1000} {
				var s traverse.Scratch
				run(t, tr, &s, queries, k)
				got = append(got, fmt.Sprintf("%s %s %s k=%d: %+v", x.name, tr.Mode(), tr.Name(), k, s.Stats))
			}
		}
		for i := range queries[0].Legs {
			queries[0].Legs[i].Derived = derived.List{}
		}
		for _, k := range []int{1, 10, 1000} {
			var s traverse.Scratch
			run(t, pruning, &s, queries, k)
			got = append(got, fmt.Sprintf("%s block-max-pruning without copies of lists k=%d: %+v", x.name, k, s.Stats))
		}
	}
	checkGolden(t, "testdata/stats.txt", got)
}

// Lists have similar and very different lengths, clustered and not, with and without deletions.
func statsCollections(t *testing.T) []*collection {
	rng := rand.New(rand.NewPCG(16, 4))
	const numDocs = 25000
	list := func(shape postingstest.Shape, n int) []postingstest.Posting {
		return postingstest.RandomList(rng, shape, n, numDocs, false)
	}
	similar := oneSegment(numDocs, []float64{3, 2.5, 2},
		list(postingstest.Uniform, 6000), list(postingstest.Clustered, 7000), list(postingstest.Dense, 8000))
	similar.name = "similar"
	different := oneSegment(numDocs, []float64{7, 4, 2, 1, 0.5},
		list(postingstest.Uniform, 60), list(postingstest.Clustered, 800), list(postingstest.Uniform, 3000),
		list(postingstest.Clustered, 9000), list(postingstest.Dense, 20000))
	different.name = "different"
	deleted := oneSegment(numDocs, []float64{3, 1}, list(postingstest.Clustered, 500), list(postingstest.Clustered, 12000))
	deleted.name = "deleted"
	deleted.segments[0].live = make([]uint64, (numDocs+63)/64)
	for i := range deleted.segments[0].live {
		deleted.segments[0].live[i] = rng.Uint64()
	}
	all := []*collection{similar, different, deleted}
	for _, x := range all {
		for d := range x.segments[0].lengths {
			x.segments[0].lengths[d] = 20 + rng.Uint32N(60)
		}
		x.write(t, codec.SIMDBP{})
	}
	return all
}

// The parts of the queries contradict each other.
func TestContradictoryQuery(t *testing.T) {
	c := smallCollection(t, codec.SIMDBP{}, 1)
	for name, change := range map[string]func(q *traverse.Query){
		"too few live bits": func(q *traverse.Query) { q.Live = make([]uint64, (q.NumDocs-1)/64) },
		"too few lengths":   func(q *traverse.Query) { q.Legs[1].Lengths = q.Legs[1].Lengths[:q.NumDocs-1] },
		"list beyond documents": func(q *traverse.Query) {
			q.NumDocs = 0
			for i := range q.Legs {
				q.NumDocs = max(q.NumDocs, int(q.Legs[i].List.LastDocID()))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := c.queries(t)[0]
			q.Legs = slices.Clone(q.Legs)
			change(&q)
			forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
				var s traverse.Scratch
				var queue topk.Queue
				queue.Reset(10)
				if err := tr.Run(t.Context(), &s, &q, &queue); !errors.Is(err, base.ErrCorrupt) {
					t.Errorf("got %v, want %v", err, base.ErrCorrupt)
				}
			})
		})
	}
}
