package traverse_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/reorder"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

type segment struct {
	base    base.DocID
	lengths []uint32
	lists   [][]postingstest.Posting
	index   *postingstest.Index
	live    []uint64
}

type collection struct {
	name     string
	segments []segment
	terms    []score.Term
	avgLen   float64 // of the search
	bm25     score.BM25
	linear   bool // frequencies are external weights
}

// The parameters of the lists' bounds.
var indexBM25 = score.DefaultBM25

const indexAvgLen = 50

type order int

const (
	natural   order = iota // as generated: clustered in some lists
	shuffled               // random
	bisection              // by recursive graph bisection
	numOrders
)

func (o order) String() string { return [...]string{"natural", "shuffled", "bisection"}[o] }

// Everything that may affect a traversal's result or path is random.
func randomCollection(t testing.TB, rng *rand.Rand, c codec.Codec, o order, deleted bool) *collection {
	t.Helper()
	x := &collection{bm25: indexBM25, avgLen: indexAvgLen, linear: rng.IntN(6) == 0}
	if rng.IntN(4) == 0 {
		x.avgLen *= 0.5 + rng.Float64()
	}
	if rng.IntN(4) == 0 {
		x.bm25 = score.BM25{K1: rng.Float32() * 2, B: rng.Float32()}
	}
	ties := rng.IntN(3) == 0
	numLegs := []int{0, 1, 1, 2, 2, 3, 4, 6, 12}[rng.IntN(9)]
	sizes := []int{0, 1, 5, 127, 128, 129, 256, 257, 1000, 4000, 20000}
	for range numLegs {
		x.terms = append(x.terms, x.randomTerm(rng, ties))
	}
	numDocs := []int{1, 130, 3000, 25000}
	if o == bisection {
		numDocs[3] = 5000
	}
	for range 1 + rng.IntN(3) {
		s := segment{lengths: make([]uint32, numDocs[rng.IntN(4)])}
		for d := range s.lengths {
			s.lengths[d] = rng.Uint32N(100)
			if ties {
				s.lengths[d] = 50
			}
		}
		for range numLegs {
			shape := postingstest.Shape(rng.IntN(3))
			list := postingstest.RandomList(rng, shape, sizes[rng.IntN(len(sizes))], len(s.lengths), false)
			for i := range list {
				if ties {
					list[i].Freq = min(list[i].Freq, 2)
				}
			}
			s.lists = append(s.lists, list)
		}
		s.renumber(t, rng, o)
		if deleted {
			s.live = make([]uint64, (len(s.lengths)+63)/64)
			for i := range s.live {
				s.live[i] = ^(rng.Uint64() & rng.Uint64N(1<<63))
			}
		}
		x.segments = append(x.segments, s)
	}
	x.write(t, c)
	x.name = fmt.Sprintf("%s legs=%d segments=%d docs=%d ties=%t deleted=%t linear=%t bm25=%v", o, numLegs, len(x.segments),
		x.numDocs(), ties, deleted, x.linear, x.bm25)
	return x
}

func (x *collection) numDocs() (n int) {
	for i := range x.segments {
		n += len(x.segments[i].lengths)
	}
	return n
}

func (x *collection) randomTerm(rng *rand.Rand, ties bool) score.Term {
	weight := rng.Float64() * 8
	switch rng.IntN(10) {
	case 0:
		weight = 1e-9 // contributions round to 0
	case 1:
		weight *= 1000 // a boost
	}
	if ties && rng.IntN(2) == 0 {
		weight = 3
	}
	return x.term(weight)
}

func (x *collection) term(weight float64) score.Term {
	if x.linear {
		return score.NewLinearTerm(weight, 1000)
	}
	return x.bm25.NewTerm(weight, 1, x.avgLen)
}

func (s *segment) renumber(t testing.TB, rng *rand.Rand, o order) {
	if o == natural {
		return
	}
	shuffle := make([]base.DocID, len(s.lengths))
	for i, d := range rng.Perm(len(shuffle)) {
		shuffle[i] = base.DocID(d)
	}
	s.arrange(shuffle)
	if o != bisection {
		return
	}
	terms := make([][]uint32, len(s.lengths))
	for i, list := range s.lists {
		for _, p := range list {
			terms[p.DocID] = append(terms[p.DocID], uint32(i))
		}
	}
	f := reorder.Forward{Offsets: []uint64{0}, NumTerms: len(s.lists)}
	for _, of := range terms {
		f.Terms = append(f.Terms, of...)
		f.Offsets = append(f.Offsets, uint64(len(f.Terms)))
	}
	bisected, err := reorder.Bisect(t.Context(), &f, reorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.arrange(bisected)
}

func (s *segment) arrange(order []base.DocID) {
	lengths, to := make([]uint32, len(order)), make([]uint32, len(order))
	for i, d := range order {
		lengths[i], to[d] = s.lengths[d], uint32(i)
	}
	s.lengths = lengths
	for _, list := range s.lists {
		for i := range list {
			list[i].DocID = to[list[i].DocID]
		}
		slices.SortFunc(list, func(a, b postingstest.Posting) int { return cmp.Compare(a.DocID, b.DocID) })
	}
}

func (x *collection) write(t testing.TB, c codec.Codec) {
	next := base.DocID(0)
	for i := range x.segments {
		s := &x.segments[i]
		s.base = next
		next += base.DocID(len(s.lengths))
		opts := postings.Options{Codec: c, Saturation: score.Saturation{BM25: indexBM25, AvgLen: indexAvgLen, Linear: x.linear}}
		s.index = postingstest.Write(t, opts, s.lengths, 128, s.lists...)
	}
}

func (x *collection) oracle(mode traverse.Mode) []base.Hit {
	var hits []base.Hit
	for _, s := range x.segments {
		sums, matched := make([]base.Score, len(s.lengths)), make([]int, len(s.lengths))
		for i, list := range s.lists {
			for _, p := range list {
				sums[p.DocID] += x.terms[i].Score(p.Freq, s.lengths[p.DocID])
				matched[p.DocID]++
			}
		}
		for d, sum := range sums {
			if s.live != nil && s.live[d/64]>>(d%64)&1 == 0 || matched[d] == 0 || mode == traverse.And && matched[d] < len(s.lists) {
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

// Derived structures are kept for these queries only.
func (x *collection) queries(t testing.TB) []traverse.Query {
	queries := make([]traverse.Query, len(x.segments))
	kept := derived.NewCache(derived.DefaultLimit)
	for i := range x.segments {
		segment := kept.NewSegment()
		s := &x.segments[i]
		q := &queries[i]
		*q = traverse.Query{NumDocs: len(s.lengths), Live: s.live, Base: s.base}
		for j, term := range x.terms {
			leg := traverse.Leg{Leg: leg.Leg{List: s.index.Open(t, j), Term: term}, Lengths: s.lengths, Derived: segment.List(uint64(j))}
			maxBound := leg.List.Max
			switch {
			case x.linear:
				leg.Scale = score.NewScale(term, 0, 0)
			case x.bm25 == indexBM25:
				leg.Scale = score.NewScale(term, indexAvgLen, x.avgLen)
			default:
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

func withLegs(t testing.TB, rng *rand.Rand, n int) *collection {
	for {
		if x := randomCollection(t, rng, codec.SIMDBP{}, natural, rng.IntN(2) == 0); len(x.terms) >= n {
			return x
		}
	}
}

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

func allTraversals(t testing.TB) []traverse.Traversal {
	var all []traverse.Traversal
	for _, mode := range []traverse.Mode{traverse.Or, traverse.And} {
		for _, name := range traverse.Names(mode) {
			tr, err := traverse.Lookup(mode, name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, tr)
		}
	}
	return all
}

func forAllTraversals(t *testing.T, f func(t *testing.T, tr traverse.Traversal)) {
	for _, tr := range allTraversals(t) {
		t.Run(fmt.Sprintf("mode=%s/traversal=%s", tr.Mode(), tr.Name()), func(t *testing.T) { f(t, tr) })
	}
}
