package griffin

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/query"
)

func newTestRuntime(t testing.TB, o RuntimeOptions) *Runtime {
	t.Helper()
	if o.CostDir == "" {
		o.CostDir = t.TempDir()
	}
	r, err := NewRuntime(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Close fails while an index is open; after Close none can be opened.
func TestRuntimeClose(t *testing.T) {
	r := newTestRuntime(t, RuntimeOptions{})
	ix := newTestIndexWith(t, animals, Settings{}, Options{Runtime: r})
	if ix.Runtime() != r {
		t.Error("the index has another runtime")
	}
	if err := r.Close(); !errors.Is(err, ErrBadInput) {
		t.Errorf("Close with an open index: %v", err)
	}
	if got := searchIDs(t, ix, Query{Text: "cat"}); len(got) != 2 {
		t.Errorf("after a failed Close: hits %q", got)
	}
	dir := ix.ix.Dir()
	if err := errors.Join(ix.Close(), ix.Close(), r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{Runtime: r}); !errors.Is(err, ErrClosed) {
		t.Errorf("Open with a closed runtime: %v", err)
	}
}

// Yield waits for a search, but not without end, and returns at once if there is none.
func TestRuntimeYield(t *testing.T) { synctest.Test(t, testRuntimeYield) }

func testRuntimeYield(t *testing.T) {
	r := newTestRuntime(t, RuntimeOptions{})
	ix := newTestIndexWith(t, animals, Settings{NoStored: true}, Options{Runtime: r})
	waited := time.Duration(0)
	_, err := ix.Search(t.Context(), Query{
		Text: "cat", Load: LoadIDs, Aggregations: json.RawMessage(`{"a":{"filter":{"match":{}}}}`),
		ParseQuery: func(json.RawMessage) (query.Node, error) {
			began := time.Now()
			r.Yield()
			waited = time.Since(began)
			return &query.MatchAll{Boost: 1}, nil
		},
	})
	if err != nil || waited < 10*time.Millisecond {
		t.Errorf("waited for %v beside a search; %v", waited, err)
	}
	time.Sleep(time.Second) // the answer has left
	began := time.Now()
	r.Yield()
	if took := time.Since(began); took != 0 {
		t.Errorf("waited for %v without a search", took)
	}
}

func TestOpenOrCreate(t *testing.T) {
	dir := t.TempDir() + "/index"
	for _, analyzer := range []string{"simple", "english"} {
		ix, err := OpenOrCreate(dir, Settings{Analyzer: analyzer}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(ix.Add(t.Context(), Document{ID: analyzer, Text: "Text"}), ix.Commit(t.Context())); err != nil {
			t.Fatal(err)
		}
		if s, err := ix.Stats(); err != nil || s.Analyzer != "simple" {
			t.Errorf("stats %+v, %v", s, err)
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ix, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if got := searchIDs(t, ix, Query{Text: "text"}); len(got) != 2 {
		t.Errorf("hits %q", got)
	}
}

func TestNoPositions(t *testing.T) {
	ix := newTestIndexWith(t, animals, Settings{NoPositions: true}, Options{})
	if _, err := ix.Search(t.Context(), Query{Text: `"cat sat"`}); !errors.Is(err, ErrBadInput) {
		t.Errorf("phrase: %v", err)
	}
}
