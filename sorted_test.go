package griffin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// wordIndex has documents of random words, some deleted, in several segments.
func wordIndex(t *testing.T) *griffin.Index {
	t.Helper()
	ix, err := griffin.Create(t.TempDir()+"/ix", griffin.Settings{Analyzer: "simple", Fields: []string{"kind"}}, griffin.Options{})
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
		for i := range 60 {
			text := ""
			for range 1 + r.IntN(6) {
				text += fmt.Sprintf("w%d ", r.IntN(8))
			}
			d := griffin.Document{ID: fmt.Sprintf("%d-%d", segment, i), Title: fmt.Sprint("title ", i), Text: text, Fields: []griffin.Field{{Name: "kind", Value: fmt.Sprintf("k%d", i%3)}}}
			if err := ix.Add(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		if err := ix.Delete(t.Context(), fmt.Sprintf("%d-7", segment)); err != nil {
			t.Fatal(err)
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return ix
}

func hitIDs(r *griffin.Results) (ids []string) {
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func mustSearch(t *testing.T, ix *griffin.Index, q griffin.Query) *griffin.Results {
	t.Helper()
	r, err := ix.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSortByScore: a sort by score gives the hits of a search without one, also in pages, and backwards.
func TestSortByScore(t *testing.T) {
	ix := wordIndex(t)
	const text = "w1 w2 +w3"
	plain := mustSearch(t, ix, griffin.Query{Text: text, K: 1000})
	want := hitIDs(plain)
	if len(want) < 20 {
		t.Fatalf("%d hits only", len(want))
	}
	for _, sort := range []string{`"_score"`, `["_score", "_doc"]`, `[{"_score": "desc"}, {"_doc": {"order": "asc"}}]`} {
		r := mustSearch(t, ix, griffin.Query{Text: text, K: 1000, Sort: json.RawMessage(sort)})
		if got := hitIDs(r); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", sort, got, want)
		}
		for i := range r.Hits {
			if r.Hits[i].Score != plain.Hits[i].Score || r.Hits[i].NoScore || r.Hits[i].Sort == nil {
				t.Errorf("%s: hit %d: %+v", sort, i, r.Hits[i])
			}
		}
		if r.Total != (griffin.Total{Value: int64(len(want)), Relation: griffin.TotalExact}) {
			t.Errorf("total %v", r.Total)
		}
	}
	var paged []string
	q := griffin.Query{Text: text, K: 7, Sort: json.RawMessage(`["_score", "_doc"]`)}
	for {
		r := mustSearch(t, ix, q)
		if len(r.Hits) == 0 {
			break
		}
		paged = append(paged, hitIDs(r)...)
		q.SearchAfter = r.Hits[len(r.Hits)-1].Sort
	}
	if !slices.Equal(paged, want) {
		t.Errorf("pages %v, want %v", paged, want)
	}
	byDoc := mustSearch(t, ix, griffin.Query{Text: text, K: 1000, Sort: json.RawMessage(`[{"_doc": "desc"}]`)})
	backwards := mustSearch(t, ix, griffin.Query{Text: text, K: 1000, Sort: json.RawMessage(`"_doc"`)})
	reversed := hitIDs(backwards)
	slices.Reverse(reversed)
	if !slices.Equal(hitIDs(byDoc), reversed) || !byDoc.Hits[0].NoScore {
		t.Errorf("by document: %v, backwards %v", hitIDs(byDoc), reversed)
	}
}

// TestFilters compares filters, post filters and least scores with searches without them.
func TestFilters(t *testing.T) {
	ix := wordIndex(t)
	all := mustSearch(t, ix, griffin.Query{Text: "w1 w2", K: 1000, Count: true})
	filter := &query.Term{Field: "kind", Text: "k1"}
	kept := map[string]bool{}
	for _, h := range mustSearch(t, ix, griffin.Query{Node: filter, K: 1000}).Hits {
		kept[h.ID] = true
	}
	type hit struct {
		id    string
		score float64
	}
	var want []hit
	for _, h := range all.Hits {
		if kept[h.ID] {
			want = append(want, hit{h.ID, h.Score})
		}
	}
	least := want[len(want)/2].score
	for name, c := range map[string]struct {
		q    griffin.Query
		keep func(hit) bool
	}{
		"filter":      {griffin.Query{Filter: filter}, func(hit) bool { return true }},
		"post filter": {griffin.Query{PostFilter: filter}, func(hit) bool { return true }},
		"both":        {griffin.Query{Filter: filter, PostFilter: filter, Count: true}, func(hit) bool { return true }},
		"min score":   {griffin.Query{Filter: filter, MinScore: least}, func(h hit) bool { return h.score >= least }},
		"sorted":      {griffin.Query{PostFilter: filter, Sort: json.RawMessage(`["_score","_doc"]`)}, func(hit) bool { return true }},
	} {
		c.q.Text, c.q.K = "w1 w2", 1000
		r := mustSearch(t, ix, c.q)
		var got, expected []hit
		for _, h := range r.Hits {
			got = append(got, hit{h.ID, h.Score})
		}
		for _, h := range want {
			if c.keep(h) {
				expected = append(expected, h)
			}
		}
		if !slices.Equal(got, expected) || r.Total.Value != int64(len(expected)) {
			t.Errorf("%s: total %v, hits\n%v, want\n%v", name, r.Total, got, expected)
		}
	}
	r := mustSearch(t, ix, griffin.Query{Text: "w1 w2", PostFilter: filter, Aggregations: json.RawMessage(`{"k": {"filter": {"query_string": {"query": "kind:k2"}}}, "all": {"filter": {"match_all": {}}}, "g": {"global": {}}}`)})
	count := func(name string) int64 {
		a, ok := r.Aggregations.Get(name)
		if !ok {
			t.Errorf("no aggregation %s", name)
			return 0
		}
		return a.DocCount()
	}
	both := mustSearch(t, ix, griffin.Query{Text: "+kind:k2 +(w1 OR w2)", Count: true})
	if count("all") != all.Matches || count("k") != both.Matches || count("g") != int64(all.NumDocs) {
		t.Errorf("counts %d, %d, %d, want %d, %d, %d", count("all"), count("k"), count("g"), all.Matches, both.Matches, all.NumDocs)
	}
}

func TestTopHits(t *testing.T) {
	ix := wordIndex(t)
	r := mustSearch(t, ix, griffin.Query{Text: "w1 w2", Aggregations: json.RawMessage(`{"k": {"filter": {"query_string": {"query": "kind:k2"}}, "aggs": {"best": {"top_hits": {"size": 4, "from": 1}}}}}`)})
	want := mustSearch(t, ix, griffin.Query{Text: "w1 w2", Filter: &query.Term{Field: "kind", Text: "k2"}, K: 4, Offset: 1})
	k, _ := r.Aggregations.Get("k")
	best, _ := k.Aggregations().Get("best")
	var got []string
	for i, h := range best.Hits() {
		got = append(got, h.ID)
		if h.Score != want.Hits[i].Score || h.Title != want.Hits[i].Title {
			t.Errorf("hit %d: %+v, want %+v", i, h, want.Hits[i])
		}
	}
	if !slices.Equal(got, hitIDs(want)) {
		t.Errorf("hits %v, want %v", got, hitIDs(want))
	}
}

func TestHighlights(t *testing.T) {
	ix := wordIndex(t)
	r := mustSearch(t, ix, griffin.Query{Text: "title kind:k1", K: 1, Highlight: &griffin.Highlight{Fields: []griffin.HighlightField{{Name: "title"}, {Name: "k*"}}}})
	h := r.Hits[0].Highlights
	if len(h["title"]) != 1 || h["title"][0].Mark("<", ">")[:8] != "<title> " || len(h["kind"]) != 1 || h["kind"][0].Mark("<", ">") != "<k1>" {
		t.Errorf("highlights %v", h)
	}
}

// Words that patterns find are marked in every field, and in snippets.
func TestHighlightsOfPatterns(t *testing.T) {
	m, err := griffin.ParseMapping([]byte(`{"properties": {"title": {"type": "text"}, "note": {"type": "text"}, "kind": {"type": "keyword"}, "model": {"type": "sparse_vector"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(t.TempDir()+"/ix", griffin.Settings{Analyzer: "english", Mapping: m}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ix.Close() })
	d := griffin.Document{ID: "1", Title: "Wonderful worlds", Text: "The <world> wanders, wandering on", Fields: []griffin.Field{{Name: "note", Value: "Wonders of wood"}, {Name: "kind", Value: "wild thing"}, {Name: "model", Value: `{"world": 1}`}}}
	if err := errors.Join(ix.Add(t.Context(), d), ix.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, title, text, note, kind string }{
		{"wo*", "[Wonderful] [worlds]", "The <[world]> wanders, wandering on", "[Wonders] of [wood]", ""},
		{"w?nder", "[Wonderful] worlds", "The <world> [wanders], [wandering] on", "[Wonders] of wood", ""},
		{"/wo[no]d.*/", "[Wonderful] worlds", "", "[Wonders] of [wood]", ""},
		{"wandr~1", "", "The <world> [wanders], [wandering] on", "", ""},
		{"title:wo*", "[Wonderful] [worlds]", "", "", ""},
		{"note:[wonder TO wood}", "", "", "[Wonders] of wood", ""},
		{"kind:wi*", "", "", "", "[wild thing]"},
		{`note:"wonders of wo"*`, "", "", "[Wonders] of [wood]", ""},
		{"world wonder*", "[Wonderful] [worlds]", "The <[world]> wanders, wandering on", "[Wonders] of wood", ""},
		{"(wa*)^=0 wood", "", "", "Wonders of [wood]", ""},
	} {
		r := mustSearch(t, ix, griffin.Query{Text: c.query, SnippetLength: 200, Highlight: &griffin.Highlight{Fields: []griffin.HighlightField{{Name: "*", Whole: true}}}})
		if len(r.Hits) != 1 {
			t.Errorf("%s: %d hits", c.query, len(r.Hits))
			continue
		}
		marked := func(name string) string {
			if h := r.Hits[0].Highlights[name]; len(h) > 0 {
				return h[0].Mark("[", "]")
			}
			return ""
		}
		if vector := marked("model"); vector != "" {
			t.Errorf("%s: a vector is highlighted: %s", c.query, vector)
		}
		if got := []string{marked("title"), marked("text"), marked("note"), marked("kind")}; !slices.Equal(got, []string{c.title, c.text, c.note, c.kind}) {
			t.Errorf("%s: %q", c.query, got)
		}
		if snippet := r.Hits[0].Snippet.Mark("[", "]"); c.text != "" && !strings.HasPrefix(c.query, "title:") && snippet != c.text {
			t.Errorf("%s: snippet %q", c.query, snippet)
		}
	}
}

func TestSortErrors(t *testing.T) {
	ix := wordIndex(t)
	for name, q := range map[string]griffin.Query{
		"unknown field":   {Sort: json.RawMessage(`"none"`)},
		"text":            {Sort: json.RawMessage(`"kind"`)},
		"after, no sort":  {SearchAfter: json.RawMessage(`[1]`)},
		"after, offset":   {Sort: json.RawMessage(`"_doc"`), SearchAfter: json.RawMessage(`[1]`), Offset: 1},
		"after, length":   {Sort: json.RawMessage(`"_doc"`), SearchAfter: json.RawMessage(`[1, 2]`)},
		"least score":     {MinScore: -1},
		"no number":       {MinScore: math.NaN()},
		"filter, field":   {Aggregations: json.RawMessage(`{"a": {"filter": {"query_string": {"query": "none:k"}}}}`)},
		"filter, empty":   {Aggregations: json.RawMessage(`{"a": {"filter": {"query_string": {"query": ""}}}}`)},
		"filter, option":  {Aggregations: json.RawMessage(`{"a": {"filter": {"query_string": {"query": "w1", "lenient": true}}}}`)},
		"filter, boost":   {Aggregations: json.RawMessage(`{"a": {"filter": {"match_all": {"boost": 2}}}}`)},
		"saat":            {Mode: griffin.ModeSaat, Sort: json.RawMessage(`"_doc"`)},
		"trace":           {Trace: true, Sort: json.RawMessage(`"_doc"`)},
		"aggregation":     {Aggregations: json.RawMessage(`{"a": {"sums": {}}}`)},
		"filter":          {Aggregations: json.RawMessage(`{"a": {"filter": {"term": {"a": "b"}}}}`)},
		"collapse":        {Collapse: "none"},
		"collapse a text": {Collapse: "kind"},
	} {
		q.Text = "w1"
		if _, err := ix.Search(t.Context(), q); !errors.Is(err, griffin.ErrBadInput) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	results, err := ix.SearchBatch(t.Context(), []griffin.Query{{Text: "w1", Sort: json.RawMessage(`"_doc"`)}})
	if err != nil || !errors.Is(results[0].Err, griffin.ErrBadInput) {
		t.Errorf("batch: %v, %v", results, err)
	}
}
