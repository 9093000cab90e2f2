package traverse_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// segment is a segment of a random collection, uncompressed beside compressed.
type segment struct {
	base    base.DocID
	lengths []uint32
	lists   [][]postingstest.Posting
	index   *postingstest.Index
	live    []uint64
}

// collection is a random collection and a flat query over it.
type collection struct {
	name     string
	segments []segment
	terms    []score.Term
	avgLen   float64 // of the search
	bm25     score.BM25
}

// indexBM25 and indexAvgLen are those that the bounds in the lists are made for.
var indexBM25 = score.DefaultBM25

const indexAvgLen = 50

// randomCollection draws everything that a traversal's result, or its way
// there, may depend on.
func randomCollection(t *testing.T, rng *rand.Rand, c codec.Codec) *collection {
	t.Helper()
	x := &collection{bm25: indexBM25, avgLen: indexAvgLen}
	if rng.IntN(4) == 0 {
		x.avgLen *= 0.5 + rng.Float64()
	}
	if rng.IntN(4) == 0 {
		x.bm25 = score.BM25{K1: rng.Float32() * 2, B: rng.Float32()}
	}
	ties := rng.IntN(3) == 0
	deleted := rng.IntN(3) == 0
	numLegs := []int{0, 1, 1, 2, 2, 3, 4, 6, 12}[rng.IntN(9)]
	sizes := []int{0, 1, 5, 127, 128, 129, 256, 257, 1000, 4000, 20000}
	for range numLegs {
		idf := rng.Float64() * 8
		switch rng.IntN(10) {
		case 0:
			idf = 1e-9 // contributions round to 0
		case 1:
			idf *= 1000 // a boost
		}
		if ties && rng.IntN(2) == 0 {
			idf = 3
		}
		x.terms = append(x.terms, x.bm25.NewTerm(idf, 1, x.avgLen))
	}
	next := base.DocID(0)
	for range 1 + rng.IntN(3) {
		numDocs := []int{1, 130, 3000, 25000}[rng.IntN(4)]
		s := segment{base: next, lengths: make([]uint32, numDocs)}
		for d := range s.lengths {
			s.lengths[d] = rng.Uint32N(100)
			if ties {
				s.lengths[d] = 50
			}
		}
		for range numLegs {
			shape := postingstest.Shape(rng.IntN(3))
			list := postingstest.RandomList(rng, shape, sizes[rng.IntN(len(sizes))], numDocs, false)
			for i := range list {
				if ties {
					list[i].Freq = min(list[i].Freq, 2)
				}
			}
			s.lists = append(s.lists, list)
		}
		if deleted {
			s.live = make([]uint64, (numDocs+63)/64)
			for i := range s.live {
				s.live[i] = ^(rng.Uint64() & rng.Uint64N(1<<63))
			}
		}
		next += base.DocID(numDocs)
		x.segments = append(x.segments, s)
	}
	for i := range x.segments {
		s := &x.segments[i]
		opts := postings.Options{Codec: c, Saturation: score.Saturation{BM25: indexBM25, AvgLen: indexAvgLen}}
		s.index = postingstest.Write(t, opts, s.lengths, 128, s.lists...)
	}
	x.name = fmt.Sprintf("legs=%d segments=%d docs=%d ties=%t deleted=%t bm25=%v", numLegs, len(x.segments), next, ties, deleted, x.bm25)
	return x
}

// oracle scores every document through maps, and sorts.
func (x *collection) oracle(mode traverse.Mode) []base.Hit {
	var hits []base.Hit
	for _, s := range x.segments {
		sums, matched := map[uint32]base.Score{}, map[uint32]int{}
		for i, list := range s.lists {
			for _, p := range list {
				sums[p.DocID] += x.terms[i].Score(p.Freq, s.lengths[p.DocID])
				matched[p.DocID]++
			}
		}
		for d, sum := range sums {
			if s.live != nil && s.live[d/64]>>(d%64)&1 == 0 || mode == traverse.And && matched[d] < len(s.lists) {
				continue
			}
			hits = append(hits, base.Hit{DocID: s.base + base.DocID(d), Score: sum})
		}
	}
	slices.SortFunc(hits, func(a, b base.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return hits
}

// queries returns the query over each segment.
func (x *collection) queries(t testing.TB) []traverse.Query {
	queries := make([]traverse.Query, len(x.segments))
	kept := derived.NewCache(derived.DefaultLimit)
	for i := range x.segments {
		segment := kept.NewSegment()
		s := &x.segments[i]
		q := &queries[i]
		*q = traverse.Query{NumDocs: len(s.lengths), Live: s.live, Base: s.base}
		for j, term := range x.terms {
			leg := traverse.Leg{List: s.index.Open(t, j), Term: term, Lengths: s.lengths, Derived: segment.List(uint64(j))}
			maxBound := leg.List.Max
			if x.bm25 == indexBM25 {
				leg.Scale = score.NewScale(term, indexAvgLen, x.avgLen)
			} else {
				var err error
				leg.Bounds, maxBound, err = leg.List.FrontierBounds(nil, score.Saturation{BM25: x.bm25, AvgLen: x.avgLen})
				if err != nil {
					t.Fatal(err)
				}
				leg.Scale = score.NewScale(term, x.avgLen, x.avgLen)
			}
			leg.MaxScore = leg.Scale.Upper(maxBound)
			q.Legs = append(q.Legs, leg)
		}
	}
	return queries
}

// run runs the segments one after another with one queue.
func run(t testing.TB, tr traverse.Traversal, s *traverse.Scratch, queries []traverse.Query, k int) []base.Hit {
	var queue topk.Queue
	queue.Reset(k)
	for i := range queries {
		if err := tr.Run(t.Context(), s, &queries[i], &queue); err != nil {
			t.Error(err)
		}
	}
	return queue.AppendSorted(nil)
}

// forAllTraversals calls f with every traversal of every mode.
func forAllTraversals(t *testing.T, f func(t *testing.T, tr traverse.Traversal)) {
	for _, mode := range []traverse.Mode{traverse.Or, traverse.And} {
		for _, name := range traverse.Names(mode) {
			tr, err := traverse.Lookup(mode, name)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprintf("mode=%s/traversal=%s", mode, name), func(t *testing.T) { f(t, tr) })
		}
	}
}

// Every traversal, on every codec, finds exactly what the oracle finds.
func TestAllTraversals(t *testing.T) {
	const numCollections = 300
	for _, name := range codec.Names() {
		c, err := codec.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		n := numCollections
		if name != codec.Default {
			n /= 5
		}
		t.Run("codec="+name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 12))
			var s traverse.Scratch
			for range n {
				checkCollection(t, randomCollection(t, rng, c), &s)
			}
		})
	}
}

func checkCollection(t *testing.T, x *collection, s *traverse.Scratch) {
	t.Helper()
	queries := x.queries(t)
	for _, mode := range []traverse.Mode{traverse.Or, traverse.And} {
		all := x.oracle(mode)
		for _, name := range traverse.Names(mode) {
			tr, err := traverse.Lookup(mode, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range []int{0, 1, 2, 10, 100, 1000} {
				want := all[:min(k, len(all))]
				if got := run(t, tr, s, queries, k); !slices.Equal(got, want) {
					t.Fatalf("%s: %s %s k=%d: %s", x.name, mode, name, k, difference(got, want))
				}
				// A threshold that k documents are known to reach changes nothing.
				if len(want) == k && k > 0 {
					with := slices.Clone(queries)
					for i := range with {
						with[i].Threshold = want[k-1].Score
					}
					if got := run(t, tr, s, with, k); !slices.Equal(got, want) {
						t.Fatalf("%s: %s %s k=%d with threshold: %s", x.name, mode, name, k, difference(got, want))
					}
				}
			}
		}
	}
}

func difference(got, want []base.Hit) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("hit %d is %v, want %v", i, got[i], want[i])
		}
	}
	return fmt.Sprintf("%d hits, want %d", len(got), len(want))
}

// The best k are the first k of the best k+1.
func TestPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	x := randomCollection(t, rng, codec.SIMDBP{})
	for len(x.terms) < 3 {
		x = randomCollection(t, rng, codec.SIMDBP{})
	}
	queries := x.queries(t)
	forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
		var s traverse.Scratch
		before := run(t, tr, &s, queries, 0)
		for k := 1; k < 40; k++ {
			hits := run(t, tr, &s, queries, k)
			if !slices.Equal(hits[:min(len(hits), k-1)], before) {
				t.Fatalf("the best %d are not the first of the best %d", k-1, k)
			}
			before = hits
		}
	})
}

func TestTraversalsDoNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	x := randomCollection(t, rng, codec.SIMDBP{})
	for len(x.terms) < 4 {
		x = randomCollection(t, rng, codec.SIMDBP{})
	}
	queries := x.queries(t)
	forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
		var s traverse.Scratch
		var queue topk.Queue
		if n := testing.AllocsPerRun(5, func() {
			queue.Reset(100)
			for i := range queries {
				if err := tr.Run(context.Background(), &s, &queries[i], &queue); err != nil {
					t.Fatal(err)
				}
			}
		}); n != 0 {
			t.Errorf("%v allocations a query", n)
		}
	})
}

// Runs with Scratches of their own share lists.
func TestConcurrentRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	x := randomCollection(t, rng, codec.SIMDBP{})
	for len(x.terms) < 3 {
		x = randomCollection(t, rng, codec.SIMDBP{})
	}
	queries := x.queries(t)
	forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
		all := x.oracle(tr.Mode())
		want := all[:min(10, len(all))]
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				var s traverse.Scratch
				for range 3 {
					if got := run(t, tr, &s, queries, 10); !slices.Equal(got, want) {
						t.Errorf("%s", difference(got, want))
					}
				}
			})
		}
		group.Wait()
	})
}

func TestCancelledContext(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	list := postingstest.RandomList(rng, postingstest.Dense, 20000, 25000, false)
	lengths := make([]uint32, 25000)
	opts := postings.Options{Codec: codec.SIMDBP{}, Saturation: score.Saturation{BM25: indexBM25, AvgLen: indexAvgLen}}
	index := postingstest.Write(t, opts, lengths, 128, list)
	term := indexBM25.NewTerm(1, 1, indexAvgLen)
	leg := traverse.Leg{List: index.Open(t, 0), Term: term, Lengths: lengths, Scale: score.NewScale(term, indexAvgLen, indexAvgLen)}
	leg.MaxScore = leg.Scale.Upper(leg.List.Max)
	q := traverse.Query{Legs: []traverse.Leg{leg, leg}, NumDocs: len(lengths)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
		var s traverse.Scratch
		var queue topk.Queue
		queue.Reset(10)
		if err := tr.Run(ctx, &s, &q, &queue); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestLookup(t *testing.T) {
	if _, err := traverse.Lookup(traverse.Or, "svs"); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("Lookup of an And traversal for Or: %v", err)
	}
	for mode, want := range map[traverse.Mode]string{traverse.Or: "block-max-maxscore", traverse.And: "svs"} {
		if got := traverse.Default(mode).Name(); got != want {
			t.Errorf("Default(%s) = %s, want %s", mode, got, want)
		}
	}
}
