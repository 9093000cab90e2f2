package griffin

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestSaat(t *testing.T) {
	ix := newTestIndex(t, animals)
	if _, err := ix.Search(t.Context(), Query{Text: "cat", Mode: ModeSaat}); !errors.Is(err, ErrNoImpacts) || !errors.Is(err, ErrBadInput) {
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
		"the":     {"b", "a", "c"},
	} {
		t.Run(query, func(t *testing.T) {
			for _, accumulators := range append(Accumulators(), "paged:heap=1,outlined", "") {
				if got := searchIDs(t, ix, Query{Text: query, Mode: ModeSaat, Accumulators: accumulators}); !slices.Equal(got, want) {
					t.Errorf("%s with %s: got %q, want %q", query, accumulators, got, want)
				}
			}
		})
	}
	if err := ix.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	r, err := ix.Search(t.Context(), Query{Text: "cat dog", Mode: ModeSaat, Budget: Budget{Postings: 1}})
	if err != nil || r.Missed == 0 || r.Mode != ModeSaat {
		t.Errorf("with a budget: %+v, %v", r, err)
	}
	if r, err = ix.Search(t.Context(), Query{Text: "cat dog", Mode: ModeSaat, Budget: Budget{Time: time.Hour}}); err != nil || r.Missed != 0 || r.Traversal != Accumulators()[0] {
		t.Errorf("with a budget of an hour: %+v, %v", r, err)
	}
	if err := ix.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := searchIDs(t, ix, Query{Text: "cat dog", Mode: ModeSaat}); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("after a commit: %q", got)
	}
	if s, err := ix.Stats(); err != nil || s.Impacts == nil || *s.Impacts != (ImpactStats{Ranking: made.Ranking, K1: made.K1, B: made.B, Codec: made.Codec, Computed: true}) {
		t.Errorf("after a commit: %+v, %v", s.Impacts, err)
	}
	if _, err := ix.BuildImpacts(t.Context(), ImpactOptions{Ranking: "atire", BM25: &BM25{K1: 0.9, B: 0.4}, Codec: "simdbp", BitmapBits: -1}); err != nil {
		t.Fatal(err)
	}
	if got := searchIDs(t, ix, Query{Text: "cat dog", Mode: ModeSaat}); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("after a document was deleted: %q", got)
	}
}

func TestSaatRefuses(t *testing.T) {
	ix := newTestIndex(t, animals)
	if _, err := ix.BuildImpacts(t.Context(), ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []Query{
		{Accumulators: "none"},
		{Budget: Budget{Postings: -1}},
		{Budget: Budget{Time: -time.Second}},
		{Traversal: "svs"},
	} {
		q.Text, q.Mode = "cat dog", ModeSaat
		if _, err := ix.Search(t.Context(), q); !errors.Is(err, ErrBadInput) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for _, query := range []string{"+cat dog", "cat -dog", "title:cat dog"} {
		if _, err := ix.Search(t.Context(), Query{Text: query, Mode: ModeSaat}); !errors.Is(err, ErrBadInput) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := ix.Explain(t.Context(), Query{Text: "cat", Mode: ModeSaat}, "a"); !errors.Is(err, ErrBadInput) {
		t.Errorf("explain: %v", err)
	}
	if _, err := ix.BuildImpacts(t.Context(), ImpactOptions{Ranking: "tfidf"}); !errors.Is(err, ErrBadInput) {
		t.Errorf("ranking tfidf: %v", err)
	}
	if err := ParseAccumulators("array:heap=3"); !errors.Is(err, ErrBadInput) {
		t.Errorf("heap 3: %v", err)
	}
}

// Zeros are parameters; without parameters, the index's apply.
func TestImpactsWithZeroBM25(t *testing.T) {
	ix := newTestIndexWith(t, animals, Settings{BM25: &BM25{K1: 2, B: 1}}, Options{})
	for _, c := range []struct {
		set  *BM25
		want BM25
	}{{nil, BM25{K1: 2, B: 1}}, {&BM25{}, BM25{}}, {&BM25{K1: 1.5}, BM25{K1: 1.5}}} {
		s, err := ix.BuildImpacts(t.Context(), ImpactOptions{BM25: c.set})
		if got := (BM25{K1: s.K1, B: s.B}); err != nil || got != c.want {
			t.Errorf("with %+v: %+v, %v, want %+v", c.set, got, err, c.want)
		}
	}
	if _, err := ix.BuildImpacts(t.Context(), ImpactOptions{BM25: &BM25{K1: 1, B: 2}}); !errors.Is(err, ErrBadInput) {
		t.Errorf("b 2: %v", err)
	}
}

func TestSaatOfLongListsWithLimits(t *testing.T) {
	docs := make([]Document, 2100)
	for i := range docs {
		docs[i] = Document{ID: fmt.Sprint(i), Text: "common frequent"}
	}
	for name, limits := range map[string]Limits{"concurrency": {Running: 1, Waiting: 1}, "deadline": {Deadline: time.Minute}} {
		t.Run("limit="+name, func(t *testing.T) {
			ix := newTestIndexWith(t, docs, Settings{}, Options{Runtime: newTestRuntime(t, RuntimeOptions{Limits: &limits})})
			if _, err := ix.BuildImpacts(t.Context(), ImpactOptions{}); err != nil {
				t.Fatal(err)
			}
			want := []string{"0", "1", "2"}
			if got := searchIDs(t, ix, Query{Text: "common frequent", Mode: ModeSaat, K: 3}); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
