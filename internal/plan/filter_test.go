package plan

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

// filterIndex has words of all frequencies in its documents, from p0 in half of them to p13 in one of 16,384.
func filterIndex(t testing.TB, numDocs, commits int) *Planner {
	rng := rand.New(rand.NewPCG(61, 1))
	docs := make([]corpus.Document, numDocs)
	for i := range docs {
		text := []string{plantest.RandomWords(rng, 1+rng.IntN(20))}
		for p := range 14 {
			if rng.IntN(1<<(p+1)) == 0 {
				text = append(text, fmt.Sprintf("p%d", p))
			}
		}
		docs[i] = corpus.Document{ID: fmt.Sprint(i), Text: strings.Join(text, " ")}
	}
	return New(indextest.Snapshot(t, indexOf(t, docs, commits)), nil)
}

// The three ways to apply filters, flat, by looking up and as a tree, give the same hits and scores, and each is
// used.
func TestFilters(t *testing.T) {
	rng := rand.New(rand.NewPCG(62, 1))
	s := filterIndex(t, 30_000, 2)
	sc := testScratch(t, "whitespace")
	filter := func() query.Node {
		p := fmt.Sprintf("p%d", rng.IntN(14))
		switch rng.IntN(5) {
		case 0:
			return &query.Term{Text: p}
		case 1:
			return &query.Terms{Values: []string{p, fmt.Sprintf("p%d", rng.IntN(14))}}
		case 2:
			return &query.Range{From: p, To: p}
		case 3:
			return query.Any(&query.Term{Text: p}, &query.Term{Text: "p12"})
		}
		return query.All(&query.Term{Text: p}, &query.Prefix{Text: "w1"})
	}
	used := map[string]int{}
	for i := range 300 {
		b := &query.Boolean{Clauses: []query.Clause{{Occur: query.Filter, Node: filter()}}}
		words := &query.Words{Text: plantest.RandomWords(rng, 1+rng.IntN(3)), Occur: query.Should}
		switch rng.IntN(3) {
		case 0:
			b.Clauses = append(b.Clauses, query.Clause{Occur: query.Must, Node: &query.Constant{Node: filter(), Score: 1.5}})
		case 1:
			b.Clauses = append(b.Clauses, query.Clause{Occur: query.MustNot, Node: filter()})
		}
		if rng.IntN(2) == 0 {
			words.Occur = query.Must
		}
		b.Clauses = append(b.Clauses, query.Clause{Occur: query.Must, Node: words})
		p, err := s.Prepare(sc, b, Options{K: 10, Count: i%3 == 0})
		if err != nil {
			t.Fatal(err)
		}
		var trace Trace
		got, err := p.RunCPU(t.Context(), sc, nil, &trace)
		if err != nil {
			t.Fatal(err)
		}
		st := &p.stages[0]
		switch flat := st.flat; {
		case !flat:
			used["no flat stage"]++
		default:
			used[trace.Steps[0].Traversal]++
		}
		st.flat, st.offset = false, 0
		want, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Hits, want.Hits) || got.Matches != want.Matches || i%3 == 0 && int64(len(want.Hits)) > want.Matches {
			t.Fatalf("%s: by %s\ngot  %v of %d\nwant %v of %d", b, trace.Steps[0].Traversal, got.Hits, got.Matches, want.Hits, want.Matches)
		}
	}
	for _, way := range []string{"block-max-maxscore", "svs", "look-up", "tree"} {
		if used[way] < 5 {
			t.Errorf("%d queries were run in the way %s: %v", used[way], way, used)
		}
	}
}

// The bitmap of a costly filter is kept from its second use in a segment on, for all queries.
func TestFilterCache(t *testing.T) {
	s := filterIndex(t, 2000, 2)
	sc := testScratch(t, "whitespace")
	for range 3 { // cheap ones are not
		a := answer(t, s, sc, plantest.Parse(t, "+w0 +_id:7^=0"), Options{K: 10, Count: true})
		if a.Matches > 1 {
			t.Errorf("%d documents with an id", a.Matches)
		}
	}
	if n := s.snapshot.Segments[0].Derived; cachedSets.Keeps(n.List(0), maphash.String(setSeed, setKey("ids", 0, "7"))) {
		t.Error("a cheap filter is kept")
	}
	cachedAt := func(text string) []bool {
		t.Helper()
		p, err := s.Prepare(sc, plantest.Parse(t, text), Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		var trace Trace
		if _, err := p.RunCPU(t.Context(), sc, nil, &trace); err != nil {
			t.Fatal(err)
		}
		var cached []bool
		for _, step := range trace.Steps {
			for _, f := range step.Filters {
				if f.Docs == 0 || !strings.Contains(trace.String(), f.Query) {
					t.Errorf("%s: filter %+v in\n%s", text, f, &trace)
				}
				cached = append(cached, f.Cached)
			}
		}
		return cached
	}
	for _, test := range []struct {
		text string
		want []bool
	}{
		{"+w0 +w1*^=0", []bool{false, false}},
		{"+w0 +w1*^=0", []bool{false, false}}, // kept now
		{"+w0 +w1*^=0", []bool{true, true}},
		{"w2 w1*", []bool{true, true}},
		{"+w0 +w2*^=0", []bool{false, false}},
	} {
		if got := cachedAt(test.text); !slices.Equal(got, test.want) {
			t.Errorf("%s: cached %v, want %v", test.text, got, test.want)
		}
	}
}

// A pattern that ends too late stops, and one that is too complex is an error of the query.
func TestPatternsEnd(t *testing.T) {
	s := filterIndex(t, 3000, 1)
	sc := testScratch(t, "whitespace")
	p, err := s.Prepare(sc, plantest.Parse(t, "/(a|w)(0|1|2|3|4|5|6|7|8|9)*/ w0"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.RunCPU(t.Context(), sc, nil, nil); err != nil {
		t.Fatal(err)
	}
	p, err = s.Prepare(sc, &query.Regexp{Pattern: "(w|p)(0|1|2)*(0|1)(0|1|2){1,9}", MaxStates: 3}, Options{K: 10})
	if err == nil {
		_, err = p.RunCPU(t.Context(), sc, nil, nil)
	}
	if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "too complex") {
		t.Errorf("error %v", err)
	}
}
