package griffin

import (
	"errors"
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/query"
)

// Count is Results.Matches of Search, with and without deleted documents, and a Runtime's limits.
func TestCount(t *testing.T) {
	limited, err := NewRuntime(RuntimeOptions{Limits: &Limits{}})
	if err != nil {
		t.Fatal(err)
	}
	defer limited.Close()
	for _, rt := range []*Runtime{nil, limited} {
		ix, err := Create(t.TempDir(), Settings{Analyzer: "simple"}, Options{Runtime: rt})
		if err != nil {
			t.Fatal(err)
		}
		defer ix.Close()
		for i := range 300 {
			if err := ix.Add(t.Context(), Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("all a%d b%d all c%d", i%2, i%3, i%150)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if plain := ix.runtime.dispatcher.Plain(); plain != (rt == nil) {
			t.Errorf("counts without scores: %v", plain)
		}
		testCounts(t, ix, 300)
		if err := ix.Delete(t.Context(), "0", "1", "2", "150"); err != nil {
			t.Fatal(err)
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		testCounts(t, ix, 296)
		if _, err := Count(t.Context(), ix, Query{Text: `"open`}); !errors.Is(err, ErrBadInput) {
			t.Errorf("a syntax fault gives %v", err)
		}
	}
}

func testCounts(t *testing.T, ix *Index, all int64) {
	t.Helper()
	for _, q := range []Query{
		{Text: "all"},
		{Text: "nowhere"},
		{Text: ""},
		{Text: "a1 c7"},
		{Text: "a1 b2", Mode: ModeAnd},
		{Text: "c7 a1 b2", Mode: ModeAndOr, K: 300},
		{Text: "+c7 all b1"},
		{Text: "+all a1 b1"},
		{Text: "all -a1 -c8"},
		{Text: `"all a1"`},
		{Text: `+"all a1" +b2`},
		{Text: `"all a1" c8 -b0`},
		{Text: "+(c1 c2 c3) +a1"},
		{Text: "all", Filter: &query.Term{Text: "b1"}},
		{Node: &query.MatchAll{}},
	} {
		n, err := Count(t.Context(), ix, q)
		if err != nil {
			t.Fatal(err)
		}
		q.Count = true
		want, err := ix.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if n != want.Matches || q.Text == "all" && q.Filter == nil && n != all {
			t.Errorf("%q in mode %v: %d, want %d", q.Text, q.Mode, n, want.Matches)
		}
		want, err = ix.Search(t.Context(), Query{Text: q.Text, Node: q.Node, Mode: q.Mode, Filter: q.Filter, K: 300})
		if err != nil {
			t.Fatal(err)
		}
		if n != int64(len(want.Hits)) {
			t.Errorf("%q in mode %v: %d, but %d hits", q.Text, q.Mode, n, len(want.Hits))
		}
	}
}
