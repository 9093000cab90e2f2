package griffin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// shopDoc is a document of shopIndex.
type shopDoc struct {
	id, word, kind string
	price          int
	deleted        bool
}

// shopIndex has documents with typed fields; commits and deletions at random.
func shopIndex(t *testing.T, seed uint64, merge bool) (*griffin.Index, []shopDoc) {
	t.Helper()
	m, err := griffin.ParseMapping([]byte(`{"properties": {"kind": {"type": "keyword"}, "price": {"type": "long"}, "made": {"type": "date"}, "weight": {"type": "double"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(t.TempDir()+"/ix", griffin.Settings{Analyzer: "simple", Mapping: m}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	r := rand.New(rand.NewPCG(seed, 1))
	var docs []shopDoc
	for range 3 {
		for range 50 {
			d := shopDoc{id: fmt.Sprint("d", len(docs)), word: fmt.Sprint("w", r.IntN(4)), kind: fmt.Sprint("k", r.IntN(5)), price: r.IntN(30)}
			docs = append(docs, d)
			if err := ix.Add(t.Context(), griffin.Document{ID: d.id, Text: d.word, Fields: []griffin.Field{
				{Name: "kind", Value: d.kind},
				{Name: "price", Value: strconv.Itoa(d.price)},
				{Name: "made", Value: fmt.Sprintf("2024-%02d-01", 1+d.price%12)},
				{Name: "weight", Value: fmt.Sprintf("0.%d", d.price+1)},
			}}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range docs {
			if !docs[i].deleted && r.IntN(10) == 0 {
				docs[i].deleted = true
				if err := ix.Delete(t.Context(), docs[i].id); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if merge {
		if _, err := ix.Merge(t.Context(), griffin.MergeOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return ix, docs
}

// TestSortAndCountByFields compares with loops over the documents, before and after a merge.
func TestSortAndCountByFields(t *testing.T) {
	for _, merge := range []bool{false, true} {
		ix, docs := shopIndex(t, 5, merge)
		var want []shopDoc
		for _, d := range docs {
			if !d.deleted && (d.word == "w1" || d.word == "w2") {
				want = append(want, d)
			}
		}
		counts := map[string]int64{}
		sum := 0.0
		for _, d := range want {
			counts[d.kind]++
			sum += float64(d.price)
		}
		slices.SortStableFunc(want, func(a, b shopDoc) int { return b.price - a.price })
		var ids []string
		for _, d := range want {
			ids = append(ids, d.id)
		}
		r := mustSearch(t, ix, griffin.Query{
			Text: "w1 w2", K: 1000, Sort: json.RawMessage(`{"price": "desc"}`),
			Aggregations: json.RawMessage(`{"kinds": {"terms": {"field": "kind", "size": 100}, "aggs": {"best": {"top_hits": {"size": 1, "sort": "price"}}}}, "sum": {"sum": {"field": "price"}}, "months": {"date_histogram": {"field": "made", "calendar_interval": "month"}}}`),
		})
		if got := hitIDs(r); !slices.Equal(got, ids) {
			t.Errorf("merge %v: hits %v, want %v", merge, got, ids)
		}
		if string(r.Hits[0].Sort) != fmt.Sprintf("[%d]", want[0].price) {
			t.Errorf("sort values %s, want %d", r.Hits[0].Sort, want[0].price)
		}
		kinds, _ := r.Aggregations.Get("kinds")
		got := map[string]int64{}
		for _, b := range kinds.Buckets() {
			got[b.Key] = b.DocCount
			best, _ := b.Aggregations.Get("best")
			least := slices.MinFunc(want, func(x, y shopDoc) int {
				if (x.kind == b.Key) != (y.kind == b.Key) {
					if x.kind == b.Key {
						return -1
					}
					return 1
				}
				return x.price - y.price
			})
			if h := best.Hits(); len(h) != 1 || string(h[0].Sort) != fmt.Sprintf("[%d]", least.price) {
				t.Errorf("best of %s: %v, want price %d", b.Key, h, least.price)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(counts) {
			t.Errorf("merge %v: kinds %v, want %v", merge, got, counts)
		}
		total, _ := r.Aggregations.Get("sum")
		if v, ok := total.Value(); !ok || v != sum {
			t.Errorf("sum %g, want %g", v, sum)
		}
		months, _ := r.Aggregations.Get("months")
		if n := len(months.Buckets()); n != 12 {
			t.Errorf("%d months", n)
		}
		collapsed := mustSearch(t, ix, griffin.Query{Text: "w1 w2", K: 1000, Sort: json.RawMessage(`{"price": "desc"}`), Collapse: "kind"})
		seen := map[string]bool{}
		ids = nil
		for _, d := range want {
			if !seen[d.kind] {
				seen[d.kind] = true
				ids = append(ids, d.id)
			}
		}
		if got := hitIDs(collapsed); !slices.Equal(got, ids) || string(collapsed.Hits[0].Group) != strconv.Quote(want[0].kind) {
			t.Errorf("merge %v: collapsed %v, want %v", merge, got, ids)
		}
		byScore := mustSearch(t, ix, griffin.Query{Text: "w1 w2", K: 1000, Collapse: "kind"})
		if len(byScore.Hits) != len(ids) || byScore.Hits[0].NoScore {
			t.Errorf("collapsed by score: %v", byScore.Hits)
		}
		if keyword := mustSearch(t, ix, griffin.Query{Text: "w1 w2", K: 1000, Filter: &query.Term{Field: "kind", Text: "k1"}, Count: true}); keyword.Total.Value != counts["k1"] {
			t.Errorf("filter by a keyword: %v, want %d", keyword.Total, counts["k1"])
		}
	}
}

// TestFacets: values of facets have the counts of terms, dates their texts.
func TestFacets(t *testing.T) {
	ix, _ := shopIndex(t, 7, false)
	r := mustSearch(t, ix, griffin.Query{
		Text: "w0 w1", Facets: []griffin.Facet{{Field: "kind", Size: 2}, {Field: "made"}, {Field: "price", Size: 1}},
		Aggregations: json.RawMessage(`{"k": {"terms": {"field": "kind", "size": 2}}}`),
	})
	k, _ := r.Aggregations.Get("k")
	for i, b := range k.Buckets() {
		if v := r.Facets["kind"][i]; v.Text != b.Key || v.Count != b.DocCount || string(v.Value) != strconv.Quote(b.Key) {
			t.Errorf("facet %+v, bucket %+v", v, b)
		}
	}
	if len(r.Facets["kind"]) != 2 || len(r.Facets["made"]) != 10 || len(r.Facets["price"]) != 1 {
		t.Errorf("facets %v", r.Facets)
	}
	if v := r.Facets["made"][0]; string(v.Value) != strconv.Quote(v.Text) || len(v.Text) != len("2024-01-01T00:00:00.000Z") {
		t.Errorf("a date is %s", v.Value)
	}
	if v := r.Facets["price"][0]; string(v.Value) != v.Text {
		t.Errorf("a number is %s", v.Value)
	}
	for name := range r.Aggregations.All() {
		if name != "k" {
			t.Errorf("aggregation %s", name)
		}
	}
	for _, text := range []string{"", "=3", "kind=x", "kind=0"} {
		if _, err := griffin.ParseFacet(text); !errors.Is(err, griffin.ErrBadInput) {
			t.Errorf("facet %q: %v", text, err)
		}
	}
}

// TestAggregationsAfterMerge: answers do not depend on segments, sums of fractions included.
func TestAggregationsAfterMerge(t *testing.T) {
	const request = `{"w": {"extended_stats": {"field": "weight"}}, "k": {"terms": {"field": "kind"}, "aggs": {"s": {"sum": {"field": "weight"}}, "c": {"cardinality": {"field": "price"}}, "p": {"percentiles": {"field": "weight"}}}}, "x": {"composite": {"sources": [{"kind": {"terms": {"field": "kind"}}}, {"made": {"date_histogram": {"field": "made", "calendar_interval": "quarter"}}}]}}}`
	var answers [2]string
	for i, merge := range []bool{false, true} {
		ix, _ := shopIndex(t, 6, merge)
		r := mustSearch(t, ix, griffin.Query{Text: "w0 w1", Aggregations: json.RawMessage(request)})
		raw, err := json.Marshal(r.Aggregations)
		if err != nil {
			t.Fatal(err)
		}
		answers[i] = string(raw)
	}
	if answers[0] != answers[1] {
		t.Errorf("in segments %s\nmerged      %s", answers[0], answers[1])
	}
}
