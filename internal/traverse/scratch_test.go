package traverse_test

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"weak"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// TestForget checks that a Scratch keeps no query alive after Forget.
func TestForget(t *testing.T) {
	x := smallCollection(t, codec.SIMDBP{}, 1)
	runs := map[string]func(s *traverse.Scratch, q *traverse.Query, queue *topk.Queue) error{
		"steps": func(s *traverse.Scratch, q *traverse.Query, queue *topk.Queue) error {
			var c traverse.Candidates
			if err := traverse.Begin(t.Context(), s, q, &c); err != nil {
				return err
			}
			return traverse.Finish(t.Context(), s, q, &c, queue, true)
		},
	}
	for _, tr := range allTraversals(t) {
		runs[string(tr.Mode())+" "+tr.Name()] = func(s *traverse.Scratch, q *traverse.Query, queue *topk.Queue) error {
			return tr.Run(t.Context(), s, q, queue)
		}
	}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			var s traverse.Scratch
			query, legs := func() (weak.Pointer[traverse.Query], weak.Pointer[traverse.Leg]) {
				q := x.queries(t)[0]
				var queue topk.Queue
				queue.Reset(10)
				if err := run(&s, &q, &queue); err != nil {
					t.Fatal(err)
				}
				return weak.Make(&q), weak.Make(&q.Legs[0])
			}()
			s.Forget()
			runtime.GC()
			if query.Value() != nil || legs.Value() != nil {
				t.Errorf("kept alive: query %t, legs %t", query.Value() != nil, legs.Value() != nil)
			}
			runtime.KeepAlive(&s)
		})
	}
}

// TestIntersectMany has more candidates than one round of Intersect processes.
func TestIntersectMany(t *testing.T) {
	const numDocs = 18_000
	x := oneSegment(
		numDocs, []float64{1, 2},
		listOf(0, 2, numDocs/2, always(1)),
		listOf(0, 3, numDocs/3, func(i int) uint32 { return uint32(i%5 + 1) }),
	)
	x.write(t, codec.SIMDBP{})
	q := x.queries(t)[0]
	var s traverse.Scratch
	var c traverse.Candidates
	first, second := part(&q, []int{0, 1}, 0, 1), part(&q, []int{0, 1}, 1, 2)
	if err := traverse.Begin(t.Context(), &s, &first, &c); err != nil {
		t.Fatal(err)
	}
	if err := traverse.Intersect(t.Context(), &s, &second, &c); err != nil {
		t.Fatal(err)
	}
	if c.Len() != numDocs/6 {
		t.Fatalf("%d candidates, want %d", c.Len(), numDocs/6)
	}
	for i, d := range c.DocIDs {
		f := uint32(2*i%5 + 1)
		want := x.terms[0].Score(1, indexAvgLen) + x.terms[1].Score(f, indexAvgLen)
		if d != uint32(6*i) || uint64(c.Scores[i]) != uint64(want) {
			t.Fatalf("candidate %d is document %d with score %d, want %d with %d", i, d, c.Scores[i], 6*i, want)
		}
	}
}

// TestRangesSize checks the bytes that block-max-pruning's derived structures count.
func TestRangesSize(t *testing.T) {
	const (
		numDocs   = 100_000
		numRanges = numDocs / 32
		numSupers = (numRanges + 63) / 64
		numBases  = (numSupers + 15) / 16
		overhead  = 2 * 160 // that a derived.Cache counts for two entries
	)
	pruning, err := traverse.Lookup(traverse.Or, "block-max-pruning")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(71, 1))
	for _, c := range []struct {
		name    string
		list    []postingstest.Posting
		bounds  int64
		numEach int64 // postings
		entries int64
	}{
		// Ranges with postings: a bound, a number, and the start of each superblock.
		{"sparse", listOf(5, 1000, 100, always(3)), numSupers + 2*100 + 4*(numSupers+1), 100, 100},
		{"dense", postingstest.RandomList(rng, postingstest.Shape(0), 50_000, numDocs, false), numSupers + 64*numSupers, 50_000, 64 * numSupers},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := oneSegment(numDocs, []float64{2}, c.list)
			x.write(t, codec.SIMDBP{})
			queries := x.queries(t)
			freqBytes := int64(1)
			for _, p := range c.list {
				if p.Freq > 255 {
					freqBytes = 2
				}
			}
			want := overhead + c.bounds + (1+freqBytes)*c.numEach + 2*(c.entries+1) + 4*numBases
			cache := keep(queries[0].Legs, derived.DefaultLimit)
			run(t, pruning, new(traverse.Scratch), queries, 10)
			if got := cache.Stats(); got.SizeBytes != want || got.Entries != 2 {
				t.Errorf("%+v, want 2 entries of %d bytes", got, want)
			}
		})
	}
}
