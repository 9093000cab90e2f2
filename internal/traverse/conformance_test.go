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
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// For each codec, TestAllTraversals has numCases collections in different orders, with or
// without deletions; all combinations of k, order and deletions occur for every traversal and
// codec (TestDesignCoversEverything).
var ks = []int{0, 1, 2, 10, 100, 1000}

const numCases = 36

func caseOf(n int) (o order, deleted bool) { return order(n) % numOrders, n/int(numOrders)%2 == 1 }

// traversal is an index.
func kOf(n, traversal int) int { return ks[(n/int(2*numOrders)+traversal)%len(ks)] }

// -short, used with the race detector, skips cases.
func caseStep() int {
	if testing.Short() {
		return 7
	}
	return 1
}

func TestDesignCoversEverything(t *testing.T) {
	for i := range allTraversals(t) {
		seen := map[string]bool{}
		for n := range numCases {
			o, deleted := caseOf(n)
			seen[fmt.Sprint(o, deleted, kOf(n, i))] = true
		}
		if want := int(numOrders) * 2 * len(ks); len(seen) != want {
			t.Errorf("traversal %d: %d combinations of k, order and deletions, want %d", i, len(seen), want)
		}
	}
}

func TestAllTraversals(t *testing.T) {
	for i, name := range codec.Names() {
		c, err := codec.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run("codec="+name, func(t *testing.T) {
			var s traverse.Scratch
			rounds := 1
			if name == codec.Default && !testing.Short() {
				rounds = 8
			}
			for round := range rounds {
				rng := rand.New(rand.NewPCG(uint64(i), uint64(round)))
				for n := 0; n < numCases; n += caseStep() {
					o, deleted := caseOf(n)
					x := randomCollection(t, rng, c, o, deleted)
					checkCollection(t, x, &s, func(traversal int) []int { return []int{kOf(n, traversal)} })
				}
			}
		})
	}
}

func TestAllTraversalsAtEachLevel(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		var s traverse.Scratch
		rng := rand.New(rand.NewPCG(13, 14))
		for n := 0; n < numCases; n += caseStep() {
			o, deleted := caseOf(n)
			x := randomCollection(t, rng, codec.SIMDBP{}, o, deleted)
			checkCollection(t, x, &s, func(traversal int) []int { return []int{kOf(n, traversal)} })
		}
	})
}

// choose returns the values of k for a traversal, by its index.
func checkCollection(t *testing.T, x *collection, s *traverse.Scratch, choose func(traversal int) []int) {
	t.Helper()
	queries := x.queries(t)
	with := slices.Clone(queries)
	found := map[traverse.Mode][]base.Hit{traverse.Or: x.oracle(traverse.Or), traverse.And: x.oracle(traverse.And)}
	for i, tr := range allTraversals(t) {
		all := found[tr.Mode()]
		for _, k := range choose(i) {
			want := all[:min(k, len(all))]
			if got := run(t, tr, s, queries, k); !slices.Equal(got, want) {
				t.Fatalf("%s: %s %s k=%d: %s", x.name, tr.Mode(), tr.Name(), k, difference(got, want))
			}
			// A threshold that k documents reach has no effect.
			if len(want) == k && k > 0 {
				for i := range with {
					with[i].Threshold = want[k-1].Score
				}
				if got := run(t, tr, s, with, k); !slices.Equal(got, want) {
					t.Fatalf("%s: %s %s k=%d with threshold: %s", x.name, tr.Mode(), tr.Name(), k, difference(got, want))
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

func TestPrefix(t *testing.T) {
	x := withLegs(t, rand.New(rand.NewPCG(21, 22)), 3)
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
	x := withLegs(t, rand.New(rand.NewPCG(31, 32)), 4)
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

// The counters are consistent.
func TestStats(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for range 40 {
		x := withLegs(t, rng, 1)
		queries := x.queries(t)
		var blocks, numPostings int64
		for i := range queries {
			for j := range queries[i].Legs {
				l := queries[i].Legs[j].List
				blocks += int64(l.NumBlocks())
				numPostings += int64(l.DocFreq)
			}
		}
		for _, tr := range allTraversals(t) {
			blocks, numPostings := blocks, numPostings
			var s traverse.Scratch
			hits := run(t, tr, &s, queries, 10)
			st := s.Stats
			exhaustive := tr.Name() == "exhaustive-daat" || tr.Name() == "exhaustive-taat"
			decoded := st.PostingsDecoded
			if tr.Name() == "block-max-pruning" { // revisits blocks, or reads copies
				blocks, numPostings = max(blocks, st.BlocksDecoded+st.BlocksSkipped), max(numPostings, decoded)
				decoded = numPostings
			}
			switch {
			case st.BlocksSkipped < 0 || st.BlocksDecoded+st.BlocksSkipped != blocks:
				t.Errorf("%s: %s %s: %d blocks decoded, %d skipped, there are %d", x.name, tr.Mode(), tr.Name(), st.BlocksDecoded, st.BlocksSkipped, blocks)
			case st.PostingsDecoded > numPostings || st.PostingsDecoded > st.BlocksDecoded*codec.BlockLen || st.PostingsDecoded < st.BlocksDecoded:
				t.Errorf("%s: %s %s: %d postings of %d decoded in %d blocks", x.name, tr.Mode(), tr.Name(), st.PostingsDecoded, numPostings, st.BlocksDecoded)
			case st.PostingsScored > decoded && tr.Name() != "windowed-taat": // reads copies
				t.Errorf("%s: %s %s: %d postings scored, %d decoded", x.name, tr.Mode(), tr.Name(), st.PostingsScored, st.PostingsDecoded)
			case st.Candidates < int64(len(hits)):
				t.Errorf("%s: %s %s: %d hits of %d candidates", x.name, tr.Mode(), tr.Name(), len(hits), st.Candidates)
			case exhaustive && (st.PostingsDecoded != numPostings || st.PostingsScored != numPostings):
				t.Errorf("%s: %s %s: %d postings decoded and %d scored of %d", x.name, tr.Mode(), tr.Name(), st.PostingsDecoded, st.PostingsScored, numPostings)
			}
		}
	}
}

func TestConcurrentRuns(t *testing.T) {
	x := withLegs(t, rand.New(rand.NewPCG(61, 62)), 3)
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
	leg := traverse.Leg{Leg: leg.Leg{List: index.Open(t, 0), Term: term, Scale: score.NewScale(term, indexAvgLen, indexAvgLen)}, Lengths: lengths}
	leg.MaxScore = leg.Scale.Upper(leg.List.Max)
	q := traverse.Query{Legs: []traverse.Leg{leg, leg}, NumDocs: len(lengths)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
		kept := derived.NewCache(derived.DefaultLimit)
		q.Legs[0].Derived, q.Legs[1].Derived = kept.NewSegment().List(0), kept.NewSegment().List(1)
		var s traverse.Scratch
		var queue topk.Queue
		queue.Reset(10)
		if err := tr.Run(ctx, &s, &q, &queue); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		// At most one derived structure is built after cancellation.
		if n := kept.Stats().Entries; n > 1 {
			t.Errorf("%d derived structures were made", n)
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
