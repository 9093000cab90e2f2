package traverse_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/postings"
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
	last := base.DocID(0)
	for i := range c.terms {
		last = max(last, c.queries(t)[0].Legs[i].List.LastDocID())
	}
	for _, tt := range []struct {
		name   string
		change func(q *traverse.Query)
		want   string
	}{
		{
			"too few live bits", func(q *traverse.Query) { q.Live = make([]uint64, (q.NumDocs-1)/64) },
			"live bits for 1984 of 2000 documents",
		},
		{
			"too few lengths", func(q *traverse.Query) { q.Legs[1].Lengths = q.Legs[1].Lengths[:q.NumDocs-1] },
			"leg 1: lengths of 1999 documents of 2000",
		},
		{
			"list beyond documents", func(q *traverse.Query) { q.NumDocs = int(last) },
			fmt.Sprintf("list ends at DocID %d of %d documents", last, last),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := c.queries(t)[0]
			q.Legs = slices.Clone(q.Legs)
			tt.change(&q)
			check := func(t *testing.T, err error) {
				t.Helper()
				if !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %v of %s", err, base.ErrCorrupt, tt.want)
				}
			}
			var s traverse.Scratch
			var queue topk.Queue
			queue.Reset(10)
			forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
				check(t, tr.Run(t.Context(), &s, &q, &queue))
			})
			check(t, traverse.Begin(t.Context(), &s, &q, new(traverse.Candidates)))
			check(t, traverse.Intersect(t.Context(), &s, &q, new(traverse.Candidates)))
			check(t, traverse.Finish(t.Context(), &s, &q, new(traverse.Candidates), &queue, false))
		})
	}
}

// TestEmptyListNeedsNothing has a list without postings, lengths and derived structures.
func TestEmptyListNeedsNothing(t *testing.T) {
	x := smallCollection(t, codec.SIMDBP{}, 1)
	q := x.queries(t)[0]
	q.Legs = append(q.Legs, traverse.Leg{Leg: leg.Leg{List: new(postings.List), Term: x.terms[0], Scale: q.Legs[0].Scale}})
	only := q
	only.Legs = q.Legs[len(q.Legs)-1:]
	want := x.oracle(traverse.Or)[:10]
	forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
		var s traverse.Scratch
		found := want
		if tr.Mode() == traverse.And {
			found = nil
		}
		if got := run(t, tr, &s, []traverse.Query{q}, 10); !slices.Equal(got, found) {
			t.Errorf("%s", difference(got, found))
		}
		kept := keep(only.Legs, derived.DefaultLimit)
		run(t, tr, &s, []traverse.Query{only}, 10)
		if n := kept.Stats().Entries; n != 0 {
			t.Errorf("%d derived structures of an empty list, want none", n)
		}
	})
}
