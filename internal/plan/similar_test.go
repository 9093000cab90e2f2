package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/query"
)

// Similar terms are kept by segment, term and parameters, and those that only deleted documents have do not
// count.
func TestSimilarTermsAreKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 1))
	word := func() string {
		b := []byte("abcd")
		for range rng.IntN(6) {
			b[rng.IntN(4)] = byte('a' + rng.IntN(5))
		}
		return string(b)
	}
	for _, deletions := range []bool{false, true} {
		ix := indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
			for i := range 600 {
				w.Add(&corpus.Document{ID: fmt.Sprint(i), Text: word() + " " + word()})
				if i%250 == 249 {
					w.Commit()
				}
			}
			if deletions {
				for i := range 300 {
					w.Delete(2 * i)
				}
			}
			w.Commit()
		})
		s := New(indextest.Snapshot(t, ix), nil)
		queries := []query.Similarity{{Edits: "1"}, {Edits: "2"}, {Edits: "1", NoSwaps: true}, {Edits: "1", PrefixLength: 2}, {Edits: "2", MaxExpansions: 3}}
		var first [][]base.Hit
		for round := range 4 {
			for i, similar := range queries {
				sc := testScratch(t, "whitespace") // which keeps terms too
				hits := answer(t, s, sc, &query.Fuzzy{Text: "abdc", Exact: true, Similarity: similar}, Options{K: 600}).Hits
				switch {
				case round == 0:
					first = append(first, slices.Clone(hits))
				case !slices.Equal(hits, first[i]):
					t.Errorf("round %d, %+v: %d hits, first %d", round, similar, len(hits), len(first[i]))
				}
			}
		}
		if len(first[0]) == 0 || slices.Equal(first[0], first[2]) || slices.Equal(first[0], first[3]) || slices.Equal(first[1], first[4]) {
			t.Error("the parameters make no difference")
		}
	}
}
