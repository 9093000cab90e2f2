package griffin

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestSaat(t *testing.T) {
	ix := newTestIndex(t, animals)
	if _, err := ix.Search(t.Context(), "cat", WithMode(ModeSaat)); !errors.Is(err, ErrNoImpacts) || !errors.Is(err, ErrBadInput) {
		t.Errorf("without impact-ordered lists: %v", err)
	}
	before, err := ix.Stats()
	if err != nil || before.Impacts != nil {
		t.Fatalf("%+v, %v", before.Impacts, err)
	}
	made, err := ix.BuildImpacts(t.Context(), ImpactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := ix.Stats()
	if err != nil || after.Impacts == nil || *after.Impacts != made || made.Postings == 0 || made.BitsPerPosting <= 0 ||
		after.Parts["impacts"] != made.SizeBytes || after.SizeBytes != before.SizeBytes+made.SizeBytes {
		t.Errorf("before %+v, made %+v, after %+v, %v", before, made, after, err)
	}
	for query, want := range map[string][]string{
		"cats":    {"a", "b"},
		"cat dog": {"b", "a", "c"},
		"fox":     {"c"},
		"ox":      {},
		"the":     {},
	} {
		for _, accumulators := range append(Accumulators(), "paged:heap=1,outlined", "") {
			if got := searchIDs(t, ix, query, WithMode(ModeSaat), WithAccumulators(accumulators)); !slices.Equal(got, want) {
				t.Errorf("%s with %s: got %q, want %q", query, accumulators, got, want)
			}
		}
	}
	if err := ix.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	r, err := ix.Search(t.Context(), "cat dog", WithMode(ModeSaat), WithBudget(1, 0))
	if err != nil || r.Missed == 0 || r.Mode != ModeSaat {
		t.Errorf("with a budget: %+v, %v", r, err)
	}
	if r, err = ix.Search(t.Context(), "cat dog", WithMode(ModeSaat), WithBudget(0, time.Hour)); err != nil || r.Missed != 0 || r.Traversal != Accumulators()[0] {
		t.Errorf("with an hour: %+v, %v", r, err)
	}
	if err := ix.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.Search(t.Context(), "cat", WithMode(ModeSaat)); !errors.Is(err, ErrNoImpacts) {
		t.Errorf("after a commit: %v", err)
	}
	if _, err := ix.BuildImpacts(t.Context(), ImpactOptions{Ranking: "atire", K1: 0.9, B: 0.4, Codec: "simdbp", BitmapBits: -1}); err != nil {
		t.Fatal(err)
	}
	if got := searchIDs(t, ix, "cat dog", WithMode(ModeSaat)); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("after a document was deleted: %q", got)
	}
}

func TestSaatRefuses(t *testing.T) {
	ix := newTestIndex(t, animals)
	if _, err := ix.BuildImpacts(t.Context(), ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, opts := range [][]SearchOption{
		{WithAccumulators("none")},
		{WithBudget(-1, 0)},
		{WithBudget(0, -time.Second)},
		{WithTraversal("svs")},
	} {
		if _, err := ix.Search(t.Context(), "cat dog", append(opts, WithMode(ModeSaat))...); !errors.Is(err, ErrBadInput) {
			t.Errorf("options %d: %v", i, err)
		}
	}
	for _, query := range []string{"+cat dog", "cat -dog", "title:cat dog"} {
		if _, err := ix.Search(t.Context(), query, WithMode(ModeSaat)); !errors.Is(err, ErrBadInput) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := ix.Explain(t.Context(), "cat", "a", WithMode(ModeSaat)); !errors.Is(err, ErrBadInput) {
		t.Errorf("explain: %v", err)
	}
	if _, err := ix.BuildImpacts(t.Context(), ImpactOptions{Ranking: "tfidf"}); !errors.Is(err, ErrBadInput) {
		t.Errorf("ranking tfidf: %v", err)
	}
	if err := ParseAccumulators("array:heap=3"); !errors.Is(err, ErrBadInput) {
		t.Errorf("heap 3: %v", err)
	}
}
