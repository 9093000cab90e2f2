package traverse_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Collections that violate the assumptions of pruning and skipping.
func TestAdversarialCollections(t *testing.T) {
	for _, tt := range adversarialCollections() {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{codec.Default, "vbyte"} {
				c, err := codec.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				x := tt.make()
				x.name = tt.name
				x.write(t, c)
				var s traverse.Scratch
				checkCollection(t, x, &s, func(traversal int) []int {
					if testing.Short() {
						return ks[traversal%len(ks):][:1]
					}
					return ks
				})
			}
		})
	}
}

func listOf(from, step, n int, freq func(i int) uint32) []postingstest.Posting {
	list := make([]postingstest.Posting, n)
	for i := range list {
		list[i] = postingstest.Posting{DocID: uint32(from + i*step), Freq: freq(i)}
	}
	return list
}

func always(f uint32) func(int) uint32 { return func(int) uint32 { return f } }

// Documents have the mean length; each list has a weight.
func oneSegment(numDocs int, weights []float64, lists ...[]postingstest.Posting) *collection {
	x := &collection{bm25: indexBM25, avgLen: indexAvgLen}
	s := segment{lengths: make([]uint32, numDocs), lists: lists}
	for d := range s.lengths {
		s.lengths[d] = indexAvgLen
	}
	for _, w := range weights {
		x.terms = append(x.terms, x.term(w))
	}
	x.segments = []segment{s}
	return x
}

type adversarial struct {
	name string
	make func() *collection
}

func adversarialCollections() []adversarial {
	const n = 6000
	return []adversarial{
		{"all documents tie", func() *collection {
			return oneSegment(n, []float64{2, 2}, listOf(0, 1, n, always(1)), listOf(0, 1, n, always(1)))
		}},
		{"scores rise with DocIDs: each document enters", func() *collection {
			rising := func(i int) uint32 { return uint32(1 + i) }
			return oneSegment(n, []float64{2, 3}, listOf(0, 1, n, rising), listOf(0, 2, n/2, rising))
		}},
		{"scores fall with DocIDs: only the first enter", func() *collection {
			falling := func(i int) uint32 { return uint32(n - i) }
			return oneSegment(n, []float64{2, 3}, listOf(0, 1, n, falling), listOf(0, 2, n/2, falling))
		}},
		{"lists that never meet", func() *collection {
			return oneSegment(n, []float64{1, 2, 3}, listOf(0, 3, n/3, always(2)), listOf(1, 3, n/3, always(2)), listOf(2, 3, n/3, always(2)))
		}},
		{"lists that meet in the last document only", func() *collection {
			return oneSegment(n, []float64{1, 9}, listOf(0, 1, n, always(1)), listOf(n-1, 1, 1, always(1)))
		}},
		{"blocks side by side", func() *collection {
			return oneSegment(n, []float64{1, 2}, listOf(0, 1, 128*3, always(3)), listOf(128*3, 1, 128*3, always(2)))
		}},
		{"blocks that end where others begin", func() *collection {
			return oneSegment(n, []float64{1, 2}, listOf(0, 1, 128*4, always(3)), listOf(127, 128, 40, always(2)))
		}},
		{"one high posting a block", func() *collection {
			peaks := func(i int) uint32 {
				if i%128 == 77 {
					return 1000
				}
				return 1
			}
			return oneSegment(n, []float64{4, 4, 4}, listOf(0, 1, n, peaks), listOf(0, 2, n/2, peaks), listOf(0, 3, n/3, peaks))
		}},
		{"a term without weight", func() *collection {
			return oneSegment(n, []float64{1e-9, 1e-9, 2}, listOf(0, 1, n, always(1)), listOf(5, 7, 500, always(4)), listOf(100, 50, 100, always(1)))
		}},
		{"a list and its double", func() *collection {
			rng := rand.New(rand.NewPCG(9, 9))
			list := postingstest.RandomList(rng, postingstest.Clustered, 3000, n, false)
			return oneSegment(n, []float64{2, 2, 2}, list, list, list)
		}},
		{"sixty lists", func() *collection {
			rng := rand.New(rand.NewPCG(8, 8))
			var lists [][]postingstest.Posting
			var weights []float64
			for range 60 {
				lists = append(lists, postingstest.RandomList(rng, postingstest.Uniform, 1+rng.IntN(900), n, false))
				weights = append(weights, 0.1+rng.Float64())
			}
			return oneSegment(n, weights, lists...)
		}},
		{"one dominant rare term", func() *collection {
			return oneSegment(n, []float64{1, 5000}, listOf(0, 1, n, always(7)), listOf(17, 1000, 6, always(1)))
		}},
		{"gaps as wide as can be", func() *collection {
			x := oneSegment(1<<22, []float64{3, 2}, []postingstest.Posting{{DocID: 0, Freq: 1}, {DocID: 1<<22 - 1, Freq: 2}}, listOf(1<<22-300, 1, 300, always(3)))
			return x
		}},
	}
}

// Windows of many lists are longer.
func TestManyLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(98, 1))
	const numDocs = 40_000
	for _, n := range []int{33, 300} {
		var weights []float64
		var lists [][]postingstest.Posting
		for range n {
			weights = append(weights, 0.1+rng.Float64())
			lists = append(lists, postingstest.RandomList(rng, postingstest.Uniform, 1+rng.IntN(2000), numDocs, false))
		}
		x := oneSegment(numDocs, weights, lists...)
		x.write(t, codec.SIMDBP{})
		want := x.oracle(traverse.Or)
		var s traverse.Scratch
		for _, k := range []int{1, 10, 1000, numDocs} {
			tr, err := traverse.Lookup(traverse.Or, "block-max-maxscore")
			if err != nil {
				t.Fatal(err)
			}
			if got := run(t, tr, &s, x.queries(t), k); !slices.Equal(got, want[:min(k, len(want))]) {
				t.Fatalf("%d lists, k=%d: %s", n, k, difference(got, want[:min(k, len(want))]))
			}
		}
	}
}
