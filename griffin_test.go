package griffin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/query"
)

func newTestIndex(t testing.TB, docs []Document) *Index {
	t.Helper()
	return newTestIndexWith(t, docs, Settings{}, Options{})
}

func newTestIndexWith(t testing.TB, docs []Document, s Settings, o Options) *Index {
	t.Helper()
	ix, err := Create(filepath.Join(t.TempDir(), "index"), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	if err := ix.Add(t.Context(), docs...); err != nil {
		t.Fatal(err)
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ix
}

var animals = []Document{
	{ID: "a", Title: "Cat", Text: "The cat sat on the mat.", Fields: []Field{{"url", "http://x/a"}}},
	{ID: "b", Title: "Dog", Text: "The dog chased the cat."},
	{ID: "c", Title: "Fox", Text: "The quick brown fox jumps over the lazy dog."},
}

func searchIDs(t testing.TB, ix *Index, q Query) []string {
	t.Helper()
	r, err := ix.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", q.Text, err)
	}
	ids := []string{}
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func TestSearch(t *testing.T) {
	ix := newTestIndex(t, animals)
	for _, test := range []struct {
		text  string
		query Query
		want  []string
	}{
		{"cats", Query{}, []string{"a", "b"}},
		{"cat dog", Query{}, []string{"b", "a", "c"}},
		{"cat dog", Query{Mode: ModeAnd}, []string{"b"}},
		{"cat dog", Query{Mode: ModeAndOr, K: 1}, []string{"b"}},
		{"cat dog", Query{Mode: ModeAndOr}, []string{"b", "a", "c"}},
		{"cat dog", Query{K: 1, Offset: 1}, []string{"a"}},
		{"cat dog", Query{Offset: 10}, []string{}},
		{"cat dog", Query{Traversal: "exhaustive-taat"}, []string{"b", "a", "c"}},
		{"+dog -cat", Query{}, []string{"c"}},
		{`"lazy dog"`, Query{}, []string{"c"}},
		{`"dog lazy"`, Query{}, []string{}},
		{"title:dog", Query{}, []string{"b"}},
		{"http://x/lazy", Query{}, []string{}}, // no field: a phrase
		{"lazy:/dog", Query{}, []string{"c"}},
		{"-dog", Query{}, []string{}},
		{"the", Query{}, []string{"b", "a", "c"}},
		{"", Query{}, []string{}},
		{`"fox`, Query{Lenient: true}, []string{"c"}},
	} {
		t.Run(test.text, func(t *testing.T) {
			test.query.Text = test.text
			if got := searchIDs(t, ix, test.query); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSearchResults(t *testing.T) {
	ix := newTestIndex(t, animals)
	r, err := ix.Search(t.Context(), Query{Text: "cats the", SnippetLength: DefaultSnippetLength, Trace: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Query != "cats the" || r.NumDocs != 3 || r.Mode != ModeOr || r.Traversal == "" || r.Took <= 0 || len(r.Notes) != 1 {
		t.Errorf("results %+v", r)
	}
	h := r.Hits[0]
	if h.Title != "Cat" || !slices.Equal(h.Fields, []Field{{"url", "http://x/a"}}) {
		t.Errorf("hit %+v", h)
	}
	if got, want := h.Snippet.Mark("<", ">"), "The <cat> sat on the mat."; got != want {
		t.Errorf("snippet %q, want %q", got, want)
	}
	var steps []string
	for _, s := range r.Trace.Steps {
		steps = append(steps, s.Name)
	}
	if want := []string{"parse", "plan", "segment", "fetch"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Results
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if back.Mode != r.Mode || len(back.Hits) != len(r.Hits) || !strings.Contains(string(data), `"mode":"or"`) || !strings.Contains(string(data), `"engine":"griffin"`) {
		t.Errorf("JSON %s", data)
	}

	bare, err := ix.Search(t.Context(), Query{Text: "cat", Load: LoadIDs, SnippetLength: DefaultSnippetLength})
	if err != nil {
		t.Fatal(err)
	}
	if h := bare.Hits[0]; h.ID != "a" || h.Title != "" || h.Snippet.Text != "" || h.Fields != nil {
		t.Errorf("hit with the ID only: %+v", h)
	}
}

// TestNotesAboutQueries: a note reports an unknown field or operator.
func TestNotesAboutQueries(t *testing.T) {
	ix := newTestIndex(t, animals)
	for _, c := range []struct {
		name  string
		query Query
		want  string
	}{
		{"unknown field", Query{Text: "titel:cat"}, `no field "titel"; fields: title; did you mean title:?`},
		{"unknown field, lenient", Query{Text: "titel:cat", Lenient: true}, `no field "titel"`},
		{"operator of others", Query{Text: "cat NEAR/3 dog"}, `no operator NEAR`},
		{"pattern", Query{Text: "ca*"}, ""},
		{"plain words", Query{Node: &query.Words{Text: "titel:cat ca*"}}, ""},
		{"known field", Query{Text: "title:cat"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := ix.Search(t.Context(), c.query)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && len(r.Notes) > 0 || c.want != "" && (len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], c.want)) {
				t.Errorf("notes %q, want %q", r.Notes, c.want)
			}
		})
	}
}

// TestAddRefusesInvalidUTF8: Add follows the rule for JSON records.
func TestAddRefusesInvalidUTF8(t *testing.T) {
	ix := newTestIndex(t, animals)
	for _, c := range []struct {
		name string
		doc  Document
		want string
	}{
		{"id", Document{ID: "a\xff"}, `document "a\xff": id: invalid UTF-8 at byte 1`},
		{"title", Document{ID: "x", Title: "\xe9t\xe9"}, `document "x": title: invalid UTF-8 at byte 0`},
		{"text", Document{ID: "x", Text: "caf\u00e9 caf\xe9"}, `document "x": text: invalid UTF-8 at byte 9`},
		{"field", Document{ID: "x", Fields: []Field{{"a", "b"}, {"c", "\xff"}}}, `document "x": field "c": invalid UTF-8 at byte 0`},
		{"name of a field", Document{ID: "x", Fields: []Field{{"\xff", "b"}}}, `document "x": name of a field: invalid UTF-8 at byte 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := ix.Add(t.Context(), c.doc); !errors.Is(err, ErrBadInput) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
	if err := ix.Add(t.Context(), Document{ID: "x", Text: "\ufffd caf\u00e9"}); err != nil {
		t.Errorf("valid UTF-8: %v", err)
	}
}

// An explanation has each note once, and its mode depends on K for ModeAndOr.
func TestExplain(t *testing.T) {
	ix := newTestIndex(t, animals)
	for k, want := range map[int]Mode{1: ModeAnd, 2: ModeOr} {
		e, err := ix.Explain(t.Context(), Query{Text: `the dog cat (`, Mode: ModeAndOr, K: k, Lenient: true}, "b")
		if err != nil {
			t.Fatal(err)
		}
		if e.Mode != want || !e.Matches || len(e.Notes) != 2 {
			t.Errorf("k=%d: %+v, want mode %s and 2 notes", k, e, want)
		}
	}
}

// Every call returns the error of an ended context, even without work.
func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ix := newTestIndex(t, animals)
	if _, err := ix.Search(ctx, Query{Text: "the"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Search: error %v", err)
	}
	if _, err := ix.Explain(ctx, Query{Text: "the"}, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("Explain: error %v", err)
	}
	if err := ix.Add(ctx, animals...); !errors.Is(err, context.Canceled) {
		t.Errorf("Add: error %v", err)
	}
	if err := ix.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: error %v", err)
	}
}

// Parts concatenate to the whole text for any highlights.
func TestSnippetParts(t *testing.T) {
	s := Snippet{Text: "abcdef", Highlights: []Span{{0, 1}, {1, 3}, {5, 6}}}
	if got, want := s.Mark("<", ">"), "<a><bc>de<f>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for range s.Parts() {
		break // an early end does not panic
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	ix := newTestIndex(t, animals)
	search := func(q Query) error {
		_, err := ix.Search(t.Context(), q)
		return err
	}
	create := func(s Settings, o Options) error {
		_, err := Create(filepath.Join(dir, "new"), s, o)
		return err
	}
	runtime := func(o RuntimeOptions) error {
		_, err := NewRuntime(o)
		return err
	}
	_, documentErr := ix.Document(t.Context(), "nobody")
	_, openErr := Open(dir, Options{})
	_, existsErr := Create(ix.ix.Dir(), Settings{}, Options{})
	_, namelessErr := Create("", Settings{}, Options{})
	_, explainErr := ix.Explain(t.Context(), Query{Text: "cat"}, "nobody")
	_, filesErr := ix.IndexFiles(t.Context(), []string{filepath.Join(dir, "missing.jsonl")}, FilesOptions{})
	for name, test := range map[string]struct{ got, want error }{
		"open nothing":     {openErr, ErrNotIndex},
		"create twice":     {existsErr, ErrExists},
		"create nowhere":   {namelessErr, ErrBadInput},
		"analyzer":         {create(Settings{Analyzer: "klingon"}, Options{}), ErrBadInput},
		"codec":            {create(Settings{Codec: "morse"}, Options{}), ErrBadInput},
		"BM25":             {create(Settings{BM25: &BM25{K1: 1, B: 2}}, Options{}), ErrBadInput},
		"BM25 override":    {create(Settings{}, Options{BM25: &BM25{K1: -1}}), ErrBadInput},
		"memory":           {create(Settings{}, Options{IndexMemory: -1}), ErrBadInput},
		"threads":          {create(Settings{}, Options{IndexThreads: -1}), ErrBadInput},
		"device":           {runtime(RuntimeOptions{GPU: GPUOptions{Device: "fast"}}), ErrBadInput},
		"GPU memory":       {runtime(RuntimeOptions{GPU: GPUOptions{Memory: MemorySize{Bytes: -1}}}), ErrBadInput},
		"host memory":      {runtime(RuntimeOptions{GPU: GPUOptions{HostMemory: MemorySize{Percent: 101}}}), ErrBadInput},
		"limits":           {runtime(RuntimeOptions{Limits: &Limits{Running: -1}}), ErrBadInput},
		"policy":           {runtime(RuntimeOptions{Policy: "magic"}), ErrBadInput},
		"ratio":            {runtime(RuntimeOptions{Ratio: -1}), ErrBadInput},
		"syntax":           {search(Query{Text: "(cat"}), ErrBadInput},
		"text and node":    {search(Query{Text: "cat", Node: &query.Term{Text: "cat"}}), ErrBadInput},
		"node":             {search(Query{Node: &query.Term{}}), ErrBadInput},
		"field of a node":  {search(Query{Node: &query.Term{Field: "none", Text: "cat"}}), ErrBadInput},
		"k":                {search(Query{Text: "cat", K: -1}), ErrBadInput},
		"k too large":      {search(Query{Text: "cat", K: MaxK + 1}), ErrBadInput},
		"offset":           {search(Query{Text: "cat", Offset: -1}), ErrBadInput},
		"offset too large": {search(Query{Text: "cat", Offset: MaxK}), ErrBadInput},
		"traversal":        {search(Query{Text: "cat", Traversal: "guess"}), ErrBadInput},
		"policy of query":  {search(Query{Text: "cat", Policy: "magic"}), ErrBadInput},
		"load":             {search(Query{Text: "cat", Load: LoadNone + 1}), ErrBadInput},
		"explain":          {explainErr, ErrNotFound},
		"document":         {documentErr, ErrNotFound},
		"no such file":     {filesErr, os.ErrNotExist},
		"document, no ID":  {ix.Add(t.Context(), Document{Text: "x"}), ErrBadInput},
	} {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(test.got, test.want) {
				t.Errorf("%s: error %v, want %v", name, test.got, test.want)
			}
		})
	}
}

func TestQueryError(t *testing.T) {
	_, err := newTestIndex(t, nil).Search(t.Context(), Query{Text: "cat^dog"})
	var q *query.Error
	if !errors.As(err, &q) || q.Offset != 3 || !errors.Is(err, ErrBadInput) {
		t.Errorf("error %v, want a *query.Error at byte 3", err)
	}
}

// Documents yields the live documents as stored and can end early.
func TestDocuments(t *testing.T) {
	ix := newTestIndex(t, animals)
	if err := ix.Delete(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for d, err := range ix.Documents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID+d.Title)
	}
	if want := []string{"aCat", "cFox"}; !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
	for range ix.Documents(t.Context()) {
		break
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range ix.Documents(cancelled) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
	}
}

func TestWriting(t *testing.T) {
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := Create(dir, Settings{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if got := searchIDs(t, ix, Query{Text: "cat"}); len(got) != 0 {
		t.Errorf("new index: hits %q", got)
	}
	if err := ix.Commit(ctx); err != nil { // an empty index
		t.Fatal(err)
	}
	reader, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()

	if err := ix.Add(ctx, animals...); err != nil {
		t.Fatal(err)
	}
	if err := reader.Add(ctx, animals[0]); !errors.Is(err, ErrLocked) {
		t.Errorf("a second writer: error %v, want ErrLocked", err)
	}
	if _, err := ix.IndexFiles(ctx, []string{"doc.go"}, FilesOptions{}); !errors.Is(err, ErrLocked) {
		t.Errorf("files while documents wait for a commit: error %v, want ErrLocked", err)
	}
	if err := ix.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := ix.Add(ctx, animals...); err != nil {
		t.Fatal(err)
	}
	if err := ix.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := searchIDs(t, reader, Query{Text: "cat"}); len(got) != 0 {
		t.Errorf("reader before Refresh: hits %q", got)
	}
	if changed, err := reader.Refresh(); err != nil || !changed {
		t.Fatalf("Refresh: %t, %v", changed, err)
	}
	if got, want := searchIDs(t, reader, Query{Text: "cat"}), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("reader: hits %q, want %q", got, want)
	}

	// Commit released the lock, so the reader can write now.
	if err := reader.Delete(ctx, "a", "nobody"); err != nil {
		t.Fatal(err)
	}
	if err := reader.Add(ctx, Document{ID: "b", Text: "A bird."}); err != nil {
		t.Fatal(err)
	}
	if err := reader.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := searchIDs(t, reader, Query{Text: "cat"}); len(got) != 0 {
		t.Errorf("after deleting: hits %q", got)
	}
	if _, err := reader.Document(ctx, "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted document: %v", err)
	}
	if doc, err := reader.Document(ctx, "b"); err != nil || doc.Text != "A bird." {
		t.Errorf("replaced document: %+v, %v", doc, err)
	}
	if err := reader.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
	s, err := reader.Stats()
	if err != nil || s.NumDocs != 2 || s.SizeBytes == 0 || s.BitsPerPosting == 0 || len(s.Segments) == 0 {
		t.Errorf("stats %+v, %v", s, err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Search(ctx, Query{Text: "cat"}); !errors.Is(err, ErrClosed) {
		t.Errorf("search after Close: error %v", err)
	}
	if err := reader.Add(ctx, animals[0]); !errors.Is(err, ErrClosed) {
		t.Errorf("add after Close: error %v", err)
	}
}

func TestNoStored(t *testing.T) {
	ix := newTestIndexWith(t, animals, Settings{NoStored: true, Fields: []string{}, Analyzer: "simple", Codec: "raw", BM25: &BM25{K1: 1.2, B: 0.75}}, Options{})
	r, err := ix.Search(t.Context(), Query{Text: "cat", SnippetLength: DefaultSnippetLength})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Hits) != 2 || r.Hits[0].ID != "a" || r.Hits[0].Title != "" {
		t.Errorf("hits %+v", r.Hits)
	}
	if doc, err := ix.Document(t.Context(), "a"); err != nil || doc.ID != "a" || doc.Text != "" {
		t.Errorf("document %+v, %v", doc, err)
	}
	if s, err := ix.Stats(); err != nil || s.Stored || s.Codec != "raw" || s.K1 != 1.2 || len(s.Fields) != 1 {
		t.Errorf("stats %+v, %v", s, err)
	}
}

// K1 and B of 0 are parameters, not defaults: each term adds the same to each score.
func TestZeroBM25(t *testing.T) {
	docs := []Document{{ID: "once", Text: "cat"}, {ID: "often", Text: "cat cat cat dog bird"}}
	for name, ix := range map[string]*Index{
		"settings": newTestIndexWith(t, docs, Settings{BM25: &BM25{}}, Options{}),
		"options":  newTestIndexWith(t, docs, Settings{}, Options{BM25: &BM25{}}),
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ix.Search(t.Context(), Query{Text: "cat"})
			if err != nil || len(r.Hits) != 2 || r.Hits[0].Score != r.Hits[1].Score {
				t.Errorf("got %+v, %v, want two hits with equal scores", r, err)
			}
			if s, err := ix.Stats(); err != nil || s.K1 != 0 || s.B != 0 {
				t.Errorf("k1 %g, b %g, %v", s.K1, s.B, err)
			}
		})
	}
}

// BM25 parameters of Open apply to this Index and give the scores of an index created with them.
func TestOtherBM25(t *testing.T) {
	made := newTestIndexWith(t, animals, Settings{BM25: &BM25{K1: 2, B: 1}}, Options{})
	other := newTestIndex(t, animals)
	opened, err := Open(other.ix.Dir(), Options{BM25: &BM25{K1: 2, B: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	want, err := made.Search(t.Context(), Query{Text: "cat dog"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := opened.Search(t.Context(), Query{Text: "cat dog"})
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Hits) != 3 || len(got.Hits) != 3 {
		t.Fatalf("%d and %d hits, want 3", len(got.Hits), len(want.Hits))
	}
	for i := range want.Hits {
		if got.Hits[i].ID != want.Hits[i].ID || got.Hits[i].Score != want.Hits[i].Score {
			t.Errorf("hit %d: got %+v, want %+v", i, got.Hits[i], want.Hits[i])
		}
	}
}

func TestIndexFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "docs.jsonl")
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"id":"%d","title":"Number %d","text":"w%d w%d","url":"u"}`+"\n", i%990, i, i%7, i%11)
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, reorder := range []Reorder{ReorderNone, ReorderBP} {
		ix, err := Create(filepath.Join(dir, string(reorder)), Settings{}, Options{IndexMemory: 64 << 20, IndexThreads: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer ix.Close()
		var last Progress
		var duplicates int
		r, err := ix.IndexFiles(t.Context(), []string{file}, FilesOptions{
			Reorder: reorder, Progress: func(p Progress) { last = p }, OnDuplicate: func(string, string, string) { duplicates++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Docs != 990 || r.Duplicates != 10 || duplicates != 10 || r.InputBytes == 0 || r.Took <= 0 {
			t.Errorf("report %+v, %d duplicates", r, duplicates)
		}
		if last.Docs == 0 || last.Phase == "" {
			t.Errorf("last progress %+v", last)
		}
		results, err := ix.Search(t.Context(), Query{Text: "w3 w5", Mode: ModeAnd, K: 1000})
		if err != nil {
			t.Fatal(err)
		}
		// The last ten replace the first ten; statistics count both.
		want := 0
		for i := 10; i < 1000; i++ {
			if i%7 == 3 && i%11 == 5 || i%7 == 5 && i%11 == 3 {
				want++
			}
		}
		if len(results.Hits) != want {
			t.Errorf("reorder %s: %d hits, want %d", reorder, len(results.Hits), want)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := ix.IndexFiles(cancelled, []string{file}, FilesOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: error %v", err)
		}
	}
}

// With concurrent searches, writers and refreshes, each search sees one commit, in which all
// documents have the same word.
func TestConcurrency(t *testing.T) {
	const numDocs = 20
	ix := newTestIndex(t, nil)
	commit := func(word string) error {
		for i := range numDocs {
			if err := ix.Add(t.Context(), Document{ID: fmt.Sprint(i), Text: "all " + word}); err != nil {
				return err
			}
		}
		return ix.Commit(t.Context())
	}
	if err := commit("w0"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := ix.Search(t.Context(), Query{Text: "all", K: 100, SnippetLength: DefaultSnippetLength})
				if err != nil {
					t.Error(err)
					return
				}
				if len(r.Hits) != numDocs {
					t.Errorf("%d hits, want %d", len(r.Hits), numDocs)
				}
				for _, h := range r.Hits {
					if h.Snippet.Text != r.Hits[0].Snippet.Text {
						t.Errorf("hits of two commits: %q and %q", r.Hits[0].Snippet.Text, h.Snippet.Text)
					}
				}
				if _, err := ix.Refresh(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 15 {
		if err := commit(fmt.Sprintf("w%d", i)); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}

func TestNames(t *testing.T) {
	for what, names := range map[string][]string{
		"english": Analyzers(), "simdbp": Codecs(), "jsonl": Formats(),
		"block-max-maxscore": Traversals(ModeOr), "svs": Traversals(ModeAnd), "exhaustive-daat": Traversals(ModeAndOr),
	} {
		t.Run(what, func(t *testing.T) {
			if !slices.Contains(names, what) {
				t.Errorf("%q lacks %q", names, what)
			}
		})
	}
}
