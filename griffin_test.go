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
)

// newTestIndex makes an index, with the documents committed, that is closed
// when the test ends.
func newTestIndex(t testing.TB, docs []Document, opts ...Option) *Index {
	t.Helper()
	ix, err := Create(filepath.Join(t.TempDir(), "index"), opts...)
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

func searchIDs(t testing.TB, ix *Index, query string, opts ...SearchOption) []string {
	t.Helper()
	r, err := ix.Search(t.Context(), query, opts...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	ids := []string{}
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func TestSearch(t *testing.T) {
	ix := newTestIndex(t, animals, WithPositions())
	for _, test := range []struct {
		query string
		opts  []SearchOption
		want  []string
	}{
		{"cats", nil, []string{"a", "b"}},
		{"cat dog", nil, []string{"b", "a", "c"}},
		{"cat dog", []SearchOption{WithMode(ModeAnd)}, []string{"b"}},
		{"cat dog", []SearchOption{WithMode(ModeAndOr), WithK(1)}, []string{"b"}},
		{"cat dog", []SearchOption{WithMode(ModeAndOr)}, []string{"b", "a", "c"}},
		{"cat dog", []SearchOption{WithK(1), WithOffset(1)}, []string{"a"}},
		{"cat dog", []SearchOption{WithOffset(10)}, []string{}},
		{"cat dog", []SearchOption{WithTraversal("exhaustive-taat")}, []string{"b", "a", "c"}},
		{"+dog -cat", nil, []string{"c"}},
		{`"lazy dog"`, nil, []string{"c"}},
		{`"dog lazy"`, nil, []string{}},
		{"title:dog", nil, []string{"b"}},
		{"http://x/lazy", nil, []string{}}, // no field: the words side by side
		{"lazy:/dog", nil, []string{"c"}},
		{"-dog", nil, []string{}},
		{"the", nil, []string{}},
		{"", nil, []string{}},
		{`"fox" (AND +`, []SearchOption{WithPlainWords()}, []string{"c"}},
		{`"fox`, []SearchOption{WithLenientSyntax()}, []string{"c"}},
	} {
		if got := searchIDs(t, ix, test.query, test.opts...); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.query, got, test.want)
		}
	}
}

func TestSearchResults(t *testing.T) {
	ix := newTestIndex(t, animals, WithPositions())
	r, err := ix.Search(t.Context(), "cats the", WithSnippets(), WithTrace())
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
	if back.Mode != r.Mode || len(back.Hits) != len(r.Hits) || !strings.Contains(string(data), `"mode":"or"`) {
		t.Errorf("JSON %s", data)
	}

	bare, err := ix.Search(t.Context(), "cat", WithIDsOnly(), WithSnippets())
	if err != nil {
		t.Fatal(err)
	}
	if h := bare.Hits[0]; h.ID != "a" || h.Title != "" || h.Snippet.Text != "" || h.Fields != nil {
		t.Errorf("hit with the ID only: %+v", h)
	}
}

// An explanation has each note once, and says of which mode it is: of ModeAndOr
// that depends on how many hits are wanted.
func TestExplain(t *testing.T) {
	ix := newTestIndex(t, animals)
	for k, want := range map[int]Mode{1: ModeAnd, 2: ModeOr} {
		e, err := ix.Explain(t.Context(), `the dog cat (`, "b", WithMode(ModeAndOr), WithK(k), WithLenientSyntax())
		if err != nil {
			t.Fatal(err)
		}
		if e.Mode != want || !e.Matches || len(e.Notes) != 2 {
			t.Errorf("k=%d: %+v, want mode %s and 2 notes", k, e, want)
		}
	}
}

// A context that has ended is an error, however little there is to do.
func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ix := newTestIndex(t, animals)
	if _, err := ix.Search(ctx, "the"); !errors.Is(err, context.Canceled) {
		t.Errorf("Search: error %v", err)
	}
	if _, err := ix.Explain(ctx, "the", "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("Explain: error %v", err)
	}
	if err := ix.Add(ctx, animals...); !errors.Is(err, context.Canceled) {
		t.Errorf("Add: error %v", err)
	}
	if err := ix.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: error %v", err)
	}
}

// Parts give back the whole text, whatever the highlights are.
func TestSnippetParts(t *testing.T) {
	s := Snippet{Text: "abcdef", Highlights: []Span{{0, 1}, {1, 3}, {5, 6}}}
	if got, want := s.Mark("<", ">"), "<a><bc>de<f>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for range s.Parts() {
		break // an early end is no panic
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	ix := newTestIndex(t, animals)
	search := func(query string, opts ...SearchOption) error {
		_, err := ix.Search(t.Context(), query, opts...)
		return err
	}
	create := func(opts ...Option) error {
		_, err := Create(filepath.Join(dir, "new"), opts...)
		return err
	}
	_, openErr := Open(dir)
	_, existsErr := Create(ix.ix.Dir())
	_, namelessErr := Create("")
	_, explainErr := ix.Explain(t.Context(), "cat", "nobody")
	_, filesErr := ix.IndexFiles(t.Context(), []string{filepath.Join(dir, "missing.jsonl")}, FilesOptions{})
	for name, test := range map[string]struct{ got, want error }{
		"open nothing":     {openErr, ErrNotIndex},
		"create twice":     {existsErr, ErrExists},
		"create nowhere":   {namelessErr, ErrBadInput},
		"analyzer":         {create(WithAnalyzer("klingon")), ErrBadInput},
		"codec":            {create(WithCodec("morse")), ErrBadInput},
		"BM25":             {create(WithBM25(1, 2)), ErrBadInput},
		"memory":           {create(WithMemory(-1)), ErrBadInput},
		"cache":            {create(WithCache(-1)), ErrBadInput},
		"syntax":           {search("(cat"), ErrBadInput},
		"phrase":           {search(`"a cat sat"`), ErrBadInput}, // no positions
		"k":                {search("cat", WithK(0)), ErrBadInput},
		"k too large":      {search("cat", WithK(MaxK+1)), ErrBadInput},
		"offset":           {search("cat", WithOffset(-1)), ErrBadInput},
		"offset too large": {search("cat", WithOffset(MaxK)), ErrBadInput},
		"traversal":        {search("cat", WithTraversal("guess")), ErrBadInput},
		"explain":          {explainErr, ErrBadInput},
		"no such file":     {filesErr, os.ErrNotExist},
		"document, no ID":  {ix.Add(t.Context(), Document{Text: "x"}), ErrBadInput},
	} {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: error %v, want %v", name, test.got, test.want)
		}
	}
}

func TestQueryError(t *testing.T) {
	_, err := newTestIndex(t, nil).Search(t.Context(), "cat^dog")
	var q *QueryError
	if !errors.As(err, &q) || q.Offset != 3 || !errors.Is(err, ErrBadInput) {
		t.Errorf("error %v, want a *QueryError at byte 3", err)
	}
}

// Documents yields what is live, as stored, and ends when it is told to.
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
	ix, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if got := searchIDs(t, ix, "cat"); len(got) != 0 {
		t.Errorf("new index: hits %q", got)
	}
	if err := ix.Commit(ctx); err != nil { // of an empty index
		t.Fatal(err)
	}
	reader, err := Open(dir)
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
	if got := searchIDs(t, reader, "cat"); len(got) != 0 {
		t.Errorf("reader before Refresh: hits %q", got)
	}
	if changed, err := reader.Refresh(); err != nil || !changed {
		t.Fatalf("Refresh: %t, %v", changed, err)
	}
	if got, want := searchIDs(t, reader, "cat"), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("reader: hits %q, want %q", got, want)
	}

	// The reader writes now: the lock was given back by Commit.
	if err := reader.Delete(ctx, "a", "nobody"); err != nil {
		t.Fatal(err)
	}
	if err := reader.Add(ctx, Document{ID: "b", Text: "A bird."}); err != nil {
		t.Fatal(err)
	}
	if err := reader.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := searchIDs(t, reader, "cat"); len(got) != 0 {
		t.Errorf("after deleting: hits %q", got)
	}
	if _, found, err := reader.Document(ctx, "a"); found || err != nil {
		t.Errorf("deleted document: found %t, %v", found, err)
	}
	if doc, found, err := reader.Document(ctx, "b"); !found || err != nil || doc.Text != "A bird." {
		t.Errorf("replaced document: %+v, %t, %v", doc, found, err)
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
	if _, err := reader.Search(ctx, "cat"); !errors.Is(err, ErrClosed) {
		t.Errorf("search after Close: error %v", err)
	}
	if err := reader.Add(ctx, animals[0]); !errors.Is(err, ErrClosed) {
		t.Errorf("add after Close: error %v", err)
	}
}

func TestWithoutStored(t *testing.T) {
	ix := newTestIndex(t, animals, WithoutStored(), WithFields(), WithAnalyzer("simple"), WithCodec("raw"), WithBM25(1.2, 0.75))
	r, err := ix.Search(t.Context(), "cat", WithSnippets())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Hits) != 2 || r.Hits[0].ID != "a" || r.Hits[0].Title != "" {
		t.Errorf("hits %+v", r.Hits)
	}
	if doc, found, err := ix.Document(t.Context(), "a"); !found || err != nil || doc.ID != "a" || doc.Text != "" {
		t.Errorf("document %+v, %t, %v", doc, found, err)
	}
	if s, err := ix.Stats(); err != nil || s.Stored || s.Codec != "raw" || s.K1 != 1.2 || len(s.Fields) != 1 {
		t.Errorf("stats %+v, %v", s, err)
	}
}

// BM25 parameters of Open hold for this Index, and scores are those of an
// index that was made with them.
func TestOtherBM25(t *testing.T) {
	made := newTestIndex(t, animals, WithBM25(2, 1))
	other := newTestIndex(t, animals)
	opened, err := Open(other.ix.Dir(), WithBM25(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	want, err := made.Search(t.Context(), "cat dog")
	if err != nil {
		t.Fatal(err)
	}
	got, err := opened.Search(t.Context(), "cat dog")
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
	for _, reorder := range []string{"none", "bp"} {
		ix, err := Create(filepath.Join(dir, reorder), WithMemory(64<<20), WithThreads(2))
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
		results, err := ix.Search(t.Context(), "w3 w5", WithMode(ModeAnd), WithK(1000))
		if err != nil {
			t.Fatal(err)
		}
		// The last ten replace the first ten; the w3 and w5 of both are counted.
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

// Searches, writers and refreshes at the same time: every search sees one
// commit, in which all documents have the same word.
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
				r, err := ix.Search(t.Context(), "all", WithK(100), WithSnippets())
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
		if !slices.Contains(names, what) {
			t.Errorf("%q lacks %q", names, what)
		}
	}
}
