package griffin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

func TestSearchBatch(t *testing.T) {
	for name, o := range map[string]Options{
		"plain":   {},
		"cached":  {ResultCache: 1 << 20},
		"limited": {Runtime: newTestRuntime(t, RuntimeOptions{Limits: &Limits{Running: 1, Waiting: 1}})},
	} {
		t.Run(name, func(t *testing.T) {
			ix := newTestIndexWith(t, truncationDocs(), Settings{}, o)
			var queries []Query
			for i := range sampletest.UnderRace(200, 20) {
				queries = append(queries,
					Query{Text: fmt.Sprintf("w%d w%d", i%40, i%7), Mode: []Mode{ModeOr, ModeAnd, ModeAndOr}[i%3], K: 1 + i%20, Offset: i % 3},
					Query{Node: query.All(&query.Term{Text: fmt.Sprint("w", i%50)}, &query.Words{Text: "w1 w2"}), Count: true, Load: Load(i % 4)})
			}
			queries = append(queries, Query{Text: `"w1 w2"`, SnippetLength: 80}, Query{Text: "(w1"}, Query{Text: "w1", K: -1}, Query{Text: "w1", Mode: ModeSaat}, Query{}, Query{Text: "no:field"})
			var got []BatchResult
			for round, queries := range [][]Query{{{Text: "nowhere"}}, queries, queries, queries[3:], {{Text: "nowhere"}}, queries} {
				if round < 3 {
					got = nil
				}
				var err error
				got, err = ix.SearchBatchInto(t.Context(), queries, got)
				if err != nil || len(got) != len(queries) {
					t.Fatalf("%d results, %v", len(got), err)
				}
				for i, q := range queries {
					want, err := ix.Search(t.Context(), q)
					if fmt.Sprint(got[i].Err) != fmt.Sprint(err) {
						t.Fatalf("%+v: error %v, want %v", q, got[i].Err, err)
					}
					if err != nil {
						continue
					}
					want.Took, got[i].Took = 0, 0
					want.Cached, got[i].Cached = false, false
					if !reflect.DeepEqual(&got[i].Results, want) {
						t.Fatalf("%+v:\n got %+v\nwant %+v", q, got[i].Results, *want)
					}
				}
			}
		})
	}
}

// Results in the memory of former ones keep nothing of these.
func TestSearchBatchIntoFormer(t *testing.T) {
	ix := newTestIndexWith(t, truncationDocs(), Settings{}, Options{})
	query := func(q Query) []Query { return slices.Repeat([]Query{q}, 3) }
	got, err := ix.SearchBatch(t.Context(), query(Query{Text: "w1 w2", K: 8, LoadVersions: true, SnippetLength: 60, Count: true}))
	if err != nil || len(got[0].Hits) != 8 || got[0].Hits[0].ID == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	first := &got[0].Hits[0]
	for _, q := range []Query{{Text: "w1", K: 5, Load: LoadNone}, {Text: "w2 w3", K: 8, Load: LoadIDs}} {
		if got, err = ix.SearchBatchInto(t.Context(), query(q), got); err != nil {
			t.Fatal(err)
		}
		want, err := ix.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		want.Took, got[0].Took = 0, 0
		if !reflect.DeepEqual(&got[0].Results, want) {
			t.Errorf("got %+v\nwant %+v", got[0].Results, *want)
		}
		if &got[0].Hits[0] != first {
			t.Error("the hits have other memory")
		}
	}
	if got, err = ix.SearchBatchInto(t.Context(), query(Query{Text: "(w1"}), got); err != nil || got[0].Err == nil || got[0].Hits != nil {
		t.Errorf("a fault of syntax: %+v, %v", got, err)
	}
}

// A result in the memory of a former one keeps nothing of it.
func TestSearchInto(t *testing.T) {
	ix := newTestIndexWith(t, truncationDocs(), Settings{}, Options{ResultCache: 1 << 20})
	got, err := ix.SearchInto(t.Context(), Query{Text: "w1 w2", K: 8, LoadVersions: true, SnippetLength: 60, Count: true, Trace: true}, nil)
	if err != nil || len(got.Hits) != 8 || got.Hits[0].ID == "" || got.Trace == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	first, memory := &got.Hits[0], got
	for _, q := range []Query{
		{Text: "w1", K: 5, Load: LoadNone},
		{Text: "w2 w3", K: 8, Load: LoadIDs},
		{Text: "w1 w2", K: 8, Load: LoadIDs},
		{Text: "w2 w3", K: 8}, // from the result cache
		{Text: "w1", K: 3, Count: true},
		{Text: "nothing", K: 3},
	} {
		if got, err = ix.SearchInto(t.Context(), q, memory); err != nil || got != memory {
			t.Fatalf("%p for %p, %v", got, memory, err)
		}
		if len(got.Hits) > 0 && &got.Hits[0] != first {
			t.Error("the hits have other memory")
		}
		want, err := ix.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		want.Took, got.Took = 0, 0
		want.Cached = got.Cached
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", *got, *want)
		}
	}
	if got, err = ix.SearchInto(t.Context(), Query{Text: "(w1"}, memory); err == nil || got != nil {
		t.Errorf("a fault of syntax: %+v, %v", got, err)
	}
}

func TestSearchBatchErrors(t *testing.T) {
	ix := newTestIndex(t, animals)
	if r, err := ix.SearchBatch(t.Context(), nil); err != nil || len(r) != 0 {
		t.Errorf("no queries: %d results, %v", len(r), err)
	}
	if r, err := ix.SearchBatch(t.Context(), []Query{{Text: "cat", Trace: true}}); err != nil || !errors.Is(r[0].Err, ErrBadInput) {
		t.Errorf("trace: %+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ix.SearchBatch(ctx, []Query{{Text: "cat"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.SearchBatch(t.Context(), []Query{{Text: "cat"}}); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// The other queries of the batch have their answers.
func TestSearchBatchTruncated(t *testing.T) {
	skipWithoutMapping(t)
	dir := newTestIndex(t, truncationDocs()).ix.Dir()
	ix := openTruncated(t, dir, "seg-000001/position", Options{Runtime: newTestRuntime(t, RuntimeOptions{Limits: &Limits{Running: 2}})})
	queries := make([]Query, 100)
	for i := range queries {
		queries[i] = Query{Text: fmt.Sprintf("w%d w1", i%5)}
	}
	queries[50].Text = `"w1 w2"`
	for range 5 {
		r, err := ix.SearchBatch(t.Context(), queries)
		if err != nil {
			t.Fatal(err)
		}
		for i := range r {
			if failed := ix.check(queries[i].Text, r[i].Err); failed != (i == 50) || (len(r[i].Hits) == 0) != failed {
				t.Errorf("query %d: %d hits, error %v", i, len(r[i].Hits), r[i].Err)
			}
		}
	}
}

func TestBatchResultJSON(t *testing.T) {
	for _, c := range []struct {
		name string
		r    BatchResult
		want string
	}{
		{"results", BatchResult{Results: Results{Query: "a", NumDocs: 3}}, `"query":"a"`},
		{"error", BatchResult{Err: ErrNotFound}, `{"error":"no such document"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := json.Marshal([]BatchResult{c.r})
			if err != nil || !strings.Contains(string(text), c.want) || strings.Contains(string(text), "Err") {
				t.Errorf("%s, %v; want %s", text, err, c.want)
			}
		})
	}
}
