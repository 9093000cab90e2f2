package collect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
)

// With an order, kept from the second ranking on, the hits are the same as without: if the best documents
// are at its beginning, spread over it, or not in it at all.
func TestOrders(t *testing.T) {
	m := newTestMapping(t)
	const n = 70_000
	r := rand.New(rand.NewPCG(3, 9))
	docs := make([]testDoc, n)
	for i := range docs {
		docs[i] = testDoc{match: true, values: map[string][]string{
			"made": {fmt.Sprint(1_600_000_000_000 + 1000*(i/3))}, "size": {fmt.Sprint(r.IntN(1000))}, "one": {fmt.Sprintf("k%d", r.IntN(20))},
		}}
	}
	s, all := testSegment(t, m, docs, 0, nil)
	some := func(match func(i int) bool) []uint64 {
		words := make([]uint64, len(all))
		for i := range n {
			if match(i) {
				words[i/64] |= 1 << (i % 64)
			}
		}
		return words
	}
	sets := map[string][]uint64{
		"all": all, "early": some(func(i int) bool { return i < n/3 }), "late": some(func(i int) bool { return i > n/3 }),
		"half": some(func(int) bool { return r.IntN(2) == 0 }), "few": some(func(int) bool { return r.IntN(1000) == 0 }),
	}
	for _, text := range []string{`{"made": "asc"}`, `{"made": "desc"}`, `[{"size": "desc"}, {"made": "asc"}]`, `{"one": "asc"}`, `"_doc"`, `{"_doc": "desc"}`} {
		keys, err := Parse([]byte(text), m.Field)
		if err != nil {
			t.Fatal(err)
		}
		with := s
		cache := derived.NewCache(1 << 20)
		with.Derived = cache.NewSegment()
		for range 3 {
			for name, words := range sets {
				for _, k := range []int{1, 10, 300} {
					find := func(s Segment) (docs []base.DocID) {
						hits, err := Run(context.Background(), []Segment{s}, [][]uint64{slices.Clone(words)}, Options{Keys: keys, K: k})
						if err != nil {
							t.Fatal(err)
						}
						for _, h := range hits {
							docs = append(docs, h.Doc)
						}
						return docs
					}
					if got, want := find(with), find(s); !slices.Equal(got, want) || len(got) == 0 {
						t.Fatalf("%s of %s, k=%d:\ngot  %v\nwant %v", text, name, k, got, want)
					}
				}
			}
		}
		if kept := cache.Stats().Entries; keys[0].By == Values && kept != 2 { // with its uses
			t.Errorf("%s: %d structures are kept", text, kept)
		}
	}
}
