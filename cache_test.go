package griffin

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// searchBoth searches with and without a cache, checks that the answers are equal, and returns
// the cached one.
func searchBoth(t *testing.T, cached, plain *Index, q Query) *Results {
	t.Helper()
	var answers [2]*Results
	for i, ix := range []*Index{cached, plain} {
		if _, err := ix.Refresh(); err != nil {
			t.Fatal(err)
		}
		var err error
		if answers[i], err = ix.Search(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	got, want := *answers[0], *answers[1]
	got.Took, want.Took, got.Cached = 0, 0, false
	got.Trace, want.Trace = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: cached=%t %+v, want %+v", q.Text, answers[0].Cached, got, want)
	}
	return answers[0]
}

// Searches with the same meaning share an answer and keep their own snippets. Commits take effect
// at once.
func TestResultCache(t *testing.T) {
	ix := newTestIndexWith(t, animals, Settings{}, Options{ResultCache: 1 << 20})
	plain, err := Open(ix.ix.Dir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	ask := func(cached bool, text string, q Query) {
		t.Helper()
		q.Text = text
		if r := searchBoth(t, ix, plain, q); r.Cached != cached {
			t.Errorf("%s: cached=%t", text, r.Cached)
		}
	}
	commit := func() {
		t.Helper()
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ask(false, "cat dog", Query{SnippetLength: DefaultSnippetLength})
	ask(true, "cat dog", Query{SnippetLength: DefaultSnippetLength})
	ask(true, "the DOGS cats", Query{SnippetLength: DefaultSnippetLength})
	ask(true, "dog cat", Query{K: 3, Offset: 7})
	ask(false, "dog cat", Query{K: 3})
	ask(false, "dog cat", Query{Mode: ModeAnd})
	ask(false, "dog cat", Query{Count: true})
	ask(true, "dog cat", Query{Count: true})
	ask(false, "dog cat", Query{Traversal: "maxscore"})
	ask(false, "dog cat", Query{Policy: PolicyCPU})
	ask(false, "dog cat", Query{Trace: true})
	if err := ix.Add(t.Context(), Document{ID: "d", Text: "A cat and another cat, and a dog"}); err != nil {
		t.Fatal(err)
	}
	ask(true, "cat dog", Query{}) // not committed
	commit()
	ask(false, "cat dog", Query{})
	ask(true, "cat dog", Query{})
	if err := ix.Delete(t.Context(), "d", "b"); err != nil {
		t.Fatal(err)
	}
	commit()
	ask(false, "cat dog", Query{})
	s, used := ix.ResultCacheStats()
	if !used || s.Hits != 6 || s.Entries != 1 || s.Invalidations != 5 || s.HitRate <= 0 || s.SizeBytes <= 0 || s.LimitBytes != 1<<20 {
		t.Errorf("%+v, used=%t", s, used)
	}
	if s, used := plain.ResultCacheStats(); used || s != (ResultCacheStats{}) {
		t.Errorf("without a cache: %+v, used=%t", s, used)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "x"), Settings{}, Options{ResultCache: -1}); !errors.Is(err, ErrBadInput) {
		t.Errorf("a cache of -1 bytes: %v", err)
	}
}

// Hits that the cache keeps are those that a search reads, for each of their options, and belong to the caller.
func TestResultCacheDocuments(t *testing.T) {
	docs := slices.Clone(animals)
	for i := range 30 {
		docs = append(docs, Document{ID: fmt.Sprint(i), Text: strings.Repeat("A cat. ", i) + "The dog and more.", Fields: []Field{{"n", fmt.Sprint(i)}, {"m", "x"}}})
	}
	ix := newTestIndexWith(t, docs, Settings{}, Options{ResultCache: 1 << 20})
	plain, err := Open(ix.ix.Dir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	spoil := func(r *Results) {
		for i := range r.Hits {
			h := &r.Hits[i]
			for j := range h.Fields {
				h.Fields[j].Value = "spoiled"
			}
			for j := range h.Snippet.Highlights {
				h.Snippet.Highlights[j] = Span{}
			}
			h.Fields, h.Snippet.Highlights = append(h.Fields, Field{"spoiled", ""}), append(h.Snippet.Highlights, Span{})
			h.Title = "spoiled"
		}
	}
	for range 3 {
		for _, q := range []Query{
			{SnippetLength: 30},
			{SnippetLength: 60},
			{},
			{Load: LoadTitles},
			{Load: LoadIDs},
			{Load: LoadNone},
			{Offset: 3, K: 7},
			{K: 10, SnippetLength: 30},
			{LoadVersions: true},
			{Highlight: &Highlight{Fields: []HighlightField{{Name: "*"}}}},
			{SnippetLength: 30, Count: true},
		} {
			for _, text := range []string{"cat dog", "cats DOGS", `"cat dog" cat dog`, "unseen", "title:fox dog"} {
				q.Text = text
				spoil(searchBoth(t, ix, plain, q))
			}
		}
	}
	q := Query{Text: "cat dog", SnippetLength: 50}
	var former *Results
	for range 4 {
		r, err := ix.SearchInto(t.Context(), q, former)
		if err != nil {
			t.Fatal(err)
		}
		want, err := plain.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.Hits, want.Hits) {
			t.Fatalf("in memory of former results: %+v, want %+v", r.Hits, want.Hits)
		}
		spoil(r)
		former = r
	}
	if hit, field, span := reflect.TypeFor[Hit]().Size(), reflect.TypeFor[Field]().Size(), reflect.TypeFor[Span]().Size(); hit != hitSize || field != fieldSize || span != spanSize {
		t.Errorf("sizes of a Hit, Field and Span: %d, %d, %d", hit, field, span)
	}
}

// The second of equal searches keeps its documents; later ones read none.
func TestResultCacheReadsNothing(t *testing.T) {
	ix := newTestIndexWith(t, animals, Settings{}, Options{ResultCache: 1 << 20})
	size := func() int64 {
		s, _ := ix.ResultCacheStats()
		return s.SizeBytes
	}
	var sizes []int64
	for range 4 {
		if _, err := ix.Search(t.Context(), Query{Text: "cat", SnippetLength: 50}); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, size())
	}
	if sizes[0] >= sizes[1] || sizes[1] != sizes[2] || sizes[2] != sizes[3] {
		t.Errorf("sizes of the cache: %d", sizes)
	}
}

func TestResultCacheTrace(t *testing.T) {
	ix := newTestIndexWith(t, animals, Settings{}, Options{ResultCache: 1 << 20})
	for range 2 {
		r, err := ix.Search(t.Context(), Query{Text: "cat", Trace: true})
		if err != nil || r.Cached || !strings.Contains(fmt.Sprint(r.Trace.Notes), "result cache") || strings.Contains(fmt.Sprint(r.Notes), "result cache") {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err = ix.Search(t.Context(), Query{Text: "cat"}); err != nil {
			t.Fatal(err)
		}
		if e, err := ix.Explain(t.Context(), Query{Text: "cat"}, "a"); err != nil || e.Score != r.Hits[0].Score {
			t.Errorf("%+v, %v", e, err)
		}
	}
}
