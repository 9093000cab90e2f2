package traverse_test

import (
	"errors"
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

func windowedTAAT(t *testing.T) traverse.Traversal {
	tr, err := traverse.Lookup(traverse.Or, "windowed-taat")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// randomWeights has lists whose greatest weights are next to the limits of the copies and tables.
func randomWeights(t *testing.T, rng *rand.Rand, numDocs int) *collection {
	x := oneSegment(numDocs, nil)
	x.linear = true
	for _, most := range []uint32{1, 254, 255, 256, 4095, 4096, 65534, 65535} {
		if rng.IntN(3) == 0 {
			continue
		}
		list := postingstest.RandomList(rng, postingstest.Shape(rng.IntN(3)), 1+rng.IntN(numDocs/3), numDocs, false)
		for i := range list {
			list[i].Freq = 1 + rng.Uint32N(most)
		}
		list[rng.IntN(len(list))].Freq = most
		weight := rng.Float64() * 4
		if rng.IntN(4) == 0 {
			weight = 1e-9 // scores are 0
		}
		x.terms = append(x.terms, x.term(weight))
		x.segments[0].lists = append(x.segments[0].lists, list)
	}
	if rng.IntN(2) == 0 {
		s := &x.segments[0]
		s.live = make([]uint64, (numDocs+63)/64)
		for i := range s.live {
			s.live[i] = rng.Uint64()
		}
	}
	x.write(t, codec.SIMDBP{})
	return x
}

// TestWindowedTAAT compares it with the oracle, in one run and in ranges of documents, with copies and
// without, with one Scratch.
func TestWindowedTAAT(t *testing.T) {
	tr := windowedTAAT(t)
	rng := rand.New(rand.NewPCG(81, 82))
	var s traverse.Scratch
	for _, numDocs := range []int{100, 8191, 8192, 8193, 16383, 16384, 16385, 40_000, 66_000, 131_073} {
		x := randomWeights(t, rng, numDocs)
		all := x.oracle(traverse.Or)
		for _, k := range []int{1, 10, 1000, numDocs} {
			want := all[:min(k, len(all))]
			for _, copies := range []bool{true, false} {
				name := fmt.Sprintf("docs=%d lists=%d k=%d copies=%t", numDocs, len(x.terms), k, copies)
				queries := x.queries(t)
				q := &queries[0]
				if !copies {
					for i := range q.Legs {
						q.Legs[i].Derived = derived.List{}
					}
				}
				if got := run(t, tr, &s, queries, k); !slices.Equal(got, want) {
					t.Fatalf("%s: %s", name, difference(got, want))
				}
				if got := run(t, tr, &s, withThreshold(queries, want), k); !slices.Equal(got, want) {
					t.Fatalf("%s, with a threshold: %s", name, difference(got, want))
				}
				var queue topk.Queue
				queue.Reset(k)
				for from := 0; from < numDocs; {
					to := min(from+(1+rng.IntN(4))*traverse.RangeDocs, numDocs)
					part := *q
					part.From, part.To = base.DocID(from), base.DocID(to)
					if err := tr.Run(t.Context(), &s, &part, &queue); err != nil {
						t.Fatal(err)
					}
					from = to
				}
				if got := queue.AppendSorted(nil); !slices.Equal(got, want) {
					t.Fatalf("%s, in ranges: %s", name, difference(got, want))
				}
			}
		}
	}
}

// TestWindowedTAATSize checks the bytes that its copies count.
func TestWindowedTAATSize(t *testing.T) {
	for _, tt := range []struct {
		name    string
		numDocs int
		most    uint32
		want    int64 // 0: no copy
	}{
		{"one byte", 8192, 255, 3*100 + 4*2},
		{"two bytes", 8193, 256, 4*100 + 4*3},
		{"two bytes at most", 16385, 65534, 4*100 + 4*4},
		{"no copy", 8192, 65535, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := oneSegment(tt.numDocs, nil, listOf(5, 7, 100, func(i int) uint32 { return tt.most - uint32(i) }))
			x.linear = true
			x.terms = append(x.terms, x.term(2))
			x.write(t, codec.SIMDBP{})
			queries := x.queries(t)
			cache := keep(queries[0].Legs, derived.DefaultLimit)
			run(t, windowedTAAT(t), new(traverse.Scratch), queries, 10)
			want := derived.Stats{}
			if tt.want > 0 {
				want = derived.Stats{Entries: 1, SizeBytes: 160 + tt.want} // 160: that a Cache counts for an entry
			}
			if got := cache.Stats(); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// TestWindowedTAATGreaterWeight has a weight above the maximum in the list's metadata.
func TestWindowedTAATGreaterWeight(t *testing.T) {
	x := oneSegment(1000, nil, listOf(5, 7, 100, func(i int) uint32 { return uint32(i + 1) }))
	x.linear = true
	x.terms = append(x.terms, x.term(2))
	x.write(t, codec.SIMDBP{})
	q := x.queries(t)[0]
	list := *q.Legs[0].List
	list.Max = 99
	q.Legs[0].List = &list
	var queue topk.Queue
	queue.Reset(10)
	if err := windowedTAAT(t).Run(t.Context(), new(traverse.Scratch), &q, &queue); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

// TestWindowedTAATAfterDecodeFault has a run that fails after it has added a list, and then one that
// does not: the sums of the first are gone.
func TestWindowedTAATAfterDecodeFault(t *testing.T) {
	const numDocs = 20_000
	tr := windowedTAAT(t)
	x := oneSegment(numDocs, []float64{1, 1}, listOf(0, 1, numDocs, always(1)), listOf(5, 2, 9000, always(1)))
	x.write(t, codec.SIMDBP{})
	want := x.oracle(traverse.Or)
	failed := 0
	for failAt := 1; failAt <= 70; failAt += 3 {
		queries := x.queries(t)
		bad := queries[0]
		bad.Legs = slices.Clone(bad.Legs)
		left := failAt
		failing := *bad.Legs[1].List
		failing.Codec = failingCodec{failing.Codec, &left}
		bad.Legs[1].List = &failing
		var s traverse.Scratch
		var queue topk.Queue
		queue.Reset(numDocs)
		if err := tr.Run(t.Context(), &s, &bad, &queue); err != nil {
			failed++
		}
		if got := run(t, tr, &s, queries, numDocs); !slices.Equal(got, want) {
			t.Fatalf("after decoding %d has failed: %s", failAt, difference(got, want))
		}
	}
	if failed < 20 {
		t.Errorf("%d runs failed, want 20", failed)
	}
}
