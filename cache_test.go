package griffin

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// searchBoth searches two handles on the same index, of which one caches answers, and
// returns the answer of that one. Both must be the same.
func searchBoth(t *testing.T, cached, plain *Index, query string, opts ...SearchOption) *Results {
	t.Helper()
	var answers [2]*Results
	for i, ix := range []*Index{cached, plain} {
		if _, err := ix.Refresh(); err != nil {
			t.Fatal(err)
		}
		var err error
		if answers[i], err = ix.Search(t.Context(), query, opts...); err != nil {
			t.Fatal(err)
		}
	}
	got, want := *answers[0], *answers[1]
	got.Took, want.Took, got.Cached = 0, 0, false
	got.Trace, want.Trace = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: cached=%t %+v, want %+v", query, answers[0].Cached, got, want)
	}
	return answers[0]
}

// Searches that mean the same get the answer of the first, with their own snippets; a
// commit that adds or deletes is seen at once.
func TestResultCache(t *testing.T) {
	ix := newTestIndex(t, animals, WithPositions(), WithResultCache(1<<20))
	plain, err := Open(ix.ix.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	ask := func(cached bool, query string, opts ...SearchOption) {
		t.Helper()
		if r := searchBoth(t, ix, plain, query, opts...); r.Cached != cached {
			t.Errorf("%s: cached=%t", query, r.Cached)
		}
	}
	commit := func() {
		t.Helper()
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ask(false, "cat dog", WithSnippets())
	ask(true, "cat dog", WithSnippets())
	ask(true, "the DOGS cats", WithSnippets())
	ask(true, "dog cat", WithK(3), WithOffset(7))
	ask(false, "dog cat", WithK(3))
	ask(false, "dog cat", WithMode(ModeAnd))
	ask(false, "dog cat", WithCount())
	ask(true, "dog cat", WithCount())
	ask(false, "dog cat", WithTraversal("maxscore"))
	ask(false, "dog cat", WithCPU())
	ask(false, "dog cat", WithTrace())
	if err := ix.Add(t.Context(), Document{ID: "d", Text: "A cat and another cat, and a dog"}); err != nil {
		t.Fatal(err)
	}
	ask(true, "cat dog") // not committed
	commit()
	ask(false, "cat dog")
	ask(true, "cat dog")
	if err := ix.Delete(t.Context(), "d", "b"); err != nil {
		t.Fatal(err)
	}
	commit()
	ask(false, "cat dog")
	s, used := ix.ResultCacheStats()
	if !used || s.Hits != 6 || s.Entries != 1 || s.Invalidations != 5 || s.HitRate <= 0 || s.SizeBytes <= 0 || s.LimitBytes != 1<<20 {
		t.Errorf("%+v, used=%t", s, used)
	}
	if s, used := plain.ResultCacheStats(); used || s != (ResultCacheStats{}) {
		t.Errorf("without a cache: %+v, used=%t", s, used)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "x"), WithResultCache(-1)); !errors.Is(err, ErrBadInput) {
		t.Errorf("a cache of -1 bytes: %v", err)
	}
}

// A trace says that the search was run for it, and an explanation is not of the cache.
func TestResultCacheTrace(t *testing.T) {
	ix := newTestIndex(t, animals, WithResultCache(1<<20))
	for range 2 {
		r, err := ix.Search(t.Context(), "cat", WithTrace())
		if err != nil || r.Cached || !strings.Contains(fmt.Sprint(r.Trace.Notes), "result cache") || strings.Contains(fmt.Sprint(r.Notes), "result cache") {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err = ix.Search(t.Context(), "cat"); err != nil {
			t.Fatal(err)
		}
		if e, err := ix.Explain(t.Context(), "cat", "a"); err != nil || e.Score != r.Hits[0].Score {
			t.Errorf("%+v, %v", e, err)
		}
	}
}
