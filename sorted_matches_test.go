package griffin_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin"
)

// Searches with facets, whose matches are ranked as they are found if a word is rare, have the hits of searches without.
func TestHitsBesideFacets(t *testing.T) {
	for _, reordered := range []bool{false, true} {
		ix := rareIndex(t, reordered)
		texts := []string{"+rare +w1", "+rare +rare", "+rare +w1 +w1 +w2", "rare w3", "+rare^3 +w1^0.5", "+rare +seldom", "+rare +nowhere", "+rare +w1 -w2", "+rare +w1 w2", `+rare +"w1 w2"`, "+rare +(w1 w2)", "+rare^=2 +w1"}
		for _, text := range texts {
			for _, page := range [][2]int{{0, 1}, {0, 7}, {3, 7}, {5, 1000}, {1000, 5}, {0, 0}} {
				q := griffin.Query{Text: text, Mode: griffin.ModeAnd, Offset: page[0], K: page[1], Count: true}
				want := mustSearch(t, ix, q)
				checked := func(name string, change func(q *griffin.Query)) *griffin.Results {
					q := q
					change(&q)
					got := mustSearch(t, ix, q)
					if !slices.Equal(hitIDs(got), hitIDs(want)) || got.Matches != want.Matches {
						t.Fatalf("%s of %s, page %v: %v of %d, want %v of %d", name, text, page, hitIDs(got), got.Matches, hitIDs(want), want.Matches)
					}
					for i := range got.Hits {
						if got.Hits[i].Score != want.Hits[i].Score {
							t.Fatalf("%s of %s: score %v, want %v", name, text, got.Hits[i].Score, want.Hits[i].Score)
						}
					}
					return got
				}
				r := checked("facets", func(q *griffin.Query) { q.Facets = []griffin.Facet{{Field: "kind", Size: 100}} })
				sum := int64(0)
				for _, v := range r.Facets["kind"] {
					sum += v.Count
				}
				if sum != want.Matches {
					t.Fatalf("facets of %s count %d documents, want %d", text, sum, want.Matches)
				}
				checked("aggregations", func(q *griffin.Query) {
					q.Aggregations = json.RawMessage(`{"k": {"terms": {"field": "kind"}, "aggs": {"best": {"top_hits": {"size": 2}}}}, "f": {"filter": {"query_string": {"query": "w1 w2 +w3"}}}}`)
				})
				uncounted := checked("facets without a count", func(q *griffin.Query) { q.Facets, q.Count = []griffin.Facet{{Field: "kind"}}, false })
				if r.Traversal != uncounted.Traversal || r.Total != uncounted.Total {
					t.Fatalf("%s: with a count, facets and hits are found by %s, without by %s; %v and %v match", text, r.Traversal, uncounted.Traversal, r.Total, uncounted.Total)
				}
				checked("sort", func(q *griffin.Query) { q.Sort = json.RawMessage(`["_score"]`) })
				checked("min_score", func(q *griffin.Query) { q.MinScore = 1e-9 })
				if n, err := griffin.Count(t.Context(), ix, griffin.Query{Text: text, Mode: griffin.ModeAnd}); err != nil || n != want.Matches {
					t.Fatalf("%s: %d documents are counted, %v, want %d", text, n, err, want.Matches)
				}
			}
		}
	}
}

// rareIndex has segments with many hits of equal scores, and deleted documents.
func rareIndex(t *testing.T, reordered bool) *griffin.Index {
	t.Helper()
	mapping, err := griffin.ParseMapping([]byte(`{"properties": {"kind": {"type": "keyword"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	settings := griffin.Settings{Analyzer: "simple", Mapping: mapping}
	ix, err := griffin.Create(t.TempDir()+"/ix", settings, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	r := rand.New(rand.NewPCG(4, 4))
	for segment := range 3 {
		for i := range 1000 {
			text := ""
			for range 1 + r.IntN(6) {
				text += fmt.Sprintf("w%d ", r.IntN(4))
			}
			if r.IntN(30) == 0 {
				text += "rare "
			}
			if r.IntN(40) == 0 {
				text += "seldom "
			}
			d := griffin.Document{ID: fmt.Sprintf("%d-%d", segment, i), Text: text, Fields: []griffin.Field{{Name: "kind", Value: fmt.Sprintf("k%d", i%3)}}}
			if err := ix.Add(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			if err := ix.Delete(t.Context(), fmt.Sprintf("%d-%d", r.IntN(segment+1), r.IntN(1000))); err != nil {
				t.Fatal(err)
			}
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if reordered {
		if _, err := ix.Merge(t.Context(), griffin.MergeOptions{Segments: 2, Reorder: griffin.ReorderBP}); err != nil {
			t.Fatal(err)
		}
	}
	return ix
}
