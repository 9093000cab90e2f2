package saat

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Few postings over many documents, in all forms, scattered and clustered.
func shortLists(t testing.TB, rng *rand.Rand, numDocs int) *lists {
	t.Helper()
	fs := vfstest.NewMem()
	w, err := impact.Create(fs, "impacts", impact.Options{NumDocs: numDocs, Ranking: impact.Ranking{Name: impact.RankingExternal}, RawBelow: 8})
	check(t, err)
	l := &lists{plain: map[string][]impact.Posting{}}
	for i := range 12 {
		term := fmt.Sprintf("%04d", i)
		most := 1 + rng.IntN(2*numDocs/100)
		if i%3 == 0 {
			most = 3
		}
		impacts := 3
		if i%3 == 1 {
			impacts = 60
		}
		var postings []impact.Posting
		for d := rng.IntN(numDocs / 2); d < numDocs && len(postings) < 150; d += 1 + rng.IntN(most) {
			postings = append(postings, impact.Posting{DocID: base.DocID(d), Impact: uint8(1 + rng.IntN(impacts))})
		}
		check(t, w.Add([]byte(term), postings))
		l.terms, l.plain[term] = append(l.terms, term), postings
	}
	check(t, w.Close())
	l.index, err = impact.Open(fs, "impacts")
	check(t, err)
	t.Cleanup(func() { check(t, l.index.Close()) })
	if m := l.index.Meta(); m.Raw.Segments == 0 || m.Blocks.Segments == 0 || m.Bitmap.Segments == 0 {
		t.Fatalf("not all forms: %+v", m)
	}
	return l
}

// Queries of few postings, and larger ones after them.
func TestSparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	l := shortLists(t, rng, 200_000)
	for _, accumulators := range []string{Windowed, Flat} {
		e := newEngine(t, Variant{Accumulators: accumulators})
		sparse := 0
		for range 200 {
			weights := randomWeights(rng, l, []uint32{1, 500, 100000}[rng.IntN(3)])
			q := l.query(t, 1+rng.IntN(30), weights)
			if rng.IntN(3) == 0 {
				q.Postings = 1 + rng.Int64N(300)
			}
			r, err := e.Search(t.Context(), q, nil)
			check(t, err)
			want := l.oracle(q.K, weights)
			if q.Postings > 0 {
				want = best(l.partial(t, q, weights, q.Postings), q.K)
			}
			if !slices.Equal(r.Hits, want) {
				t.Fatalf("%s, k=%d, rho %d, weights %v: got %v, want %v", accumulators, q.K, q.Postings, weights, r.Hits, want)
			}
			if map[int]bool{8: e.sums8.fewPostings(e, q), 16: e.sums16.fewPostings(e, q), 32: e.sums32.fewPostings(e, q)}[r.Width] {
				sparse++
			}
		}
		if sparse < 50 || sparse > 190 {
			t.Errorf("%s: %d of 200 queries were sparse", accumulators, sparse)
		}
	}
}
