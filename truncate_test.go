package griffin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

type truncatedIndex struct {
	*Index
	t    *testing.T
	file string // the truncated file
}

func skipWithoutMapping(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("files are not mapped on this system")
	}
}

// openTruncated truncates a file of a copied index after a first search.
func openTruncated(t *testing.T, dir, file string, o Options) *truncatedIndex {
	t.Helper()
	at := filepath.Join(t.TempDir(), "index")
	if err := os.CopyFS(at, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	ix, err := Open(at, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	if _, err := ix.Search(t.Context(), Query{Text: "w1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.Search(t.Context(), Query{Text: "w1", Mode: ModeSaat}); err != nil && !errors.Is(err, ErrNoImpacts) {
		t.Fatal(err) // opens the impact-ordered lists
	}
	if err := os.Truncate(filepath.Join(at, file), 0); err != nil {
		t.Fatal(err)
	}
	return &truncatedIndex{Index: ix, t: t, file: filepath.Join(at, file)}
}

func (ix *truncatedIndex) check(what string, err error) (failed bool) {
	ix.t.Helper()
	if err == nil {
		return false
	}
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), ix.file) || !strings.Contains(err.Error(), "it was truncated from") {
		ix.t.Errorf("%s: error %q, want ErrCorrupt that names %s", what, err, ix.file)
	}
	return true
}

// truncationDocs fill lists of several blocks and several segments.
func truncationDocs() []Document {
	rng := rand.New(rand.NewPCG(80, 81))
	var docs []Document
	for i := range 3000 {
		docs = append(docs, mergeTestDoc(rng, i))
	}
	return docs
}

// Calls that read the truncated file return an error that names it; others succeed.
func TestTruncatedFiles(t *testing.T) {
	skipWithoutMapping(t)
	built := newTestIndex(t, truncationDocs())
	if _, err := built.BuildImpacts(t.Context(), ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	dir := built.ix.Dir()
	searches := []Query{{Text: "w1"}, {Text: "w2 w30 w7"}, {Text: "+w3 +w5"}, {Text: `"w1 w2"`}, {Text: "title:w4"}, {Text: "w4 w40", Mode: ModeSaat}}
	want := map[string][]Hit{}
	for _, q := range searches {
		r, err := built.Search(t.Context(), q)
		if err != nil || len(r.Hits) == 0 {
			t.Fatalf("%s: %v", q.Text, err)
		}
		want[q.Text] = r.Hits
	}
	for file, calls := range map[string]string{
		"seg-000001/terms":    "w2 w30 w7",
		"seg-000001/records":  "w2 w30 w7",
		"seg-000001/postings": "w1",
		"seg-000001/position": `"w1 w2"`,
		"seg-000001/frontier": "other BM25",
		"seg-000001/lengths":  "w1",
		"seg-000001/ids":      "document",
		"seg-000001/stored":   "w1",
		"impacts-000002":      "w4 w40",
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ix := openTruncated(t, dir, file, Options{})
			failed := map[string]bool{}
			for _, q := range searches {
				r, err := ix.Search(t.Context(), q)
				if failed[q.Text] = ix.check(q.Text, err); err == nil && !reflect.DeepEqual(r.Hits, want[q.Text]) {
					t.Errorf("%s: neither the right hits nor an error", q.Text)
				}
			}
			_, err := ix.Explain(t.Context(), Query{Text: "w1 w2"}, "17")
			ix.check("explain", err)
			_, err = ix.Document(t.Context(), "12")
			failed["document"] = ix.check("document", err)
			for _, err := range ix.Documents(t.Context()) {
				if ix.check("documents", err) {
					break
				}
			}
			other := openTruncated(t, dir, file, Options{BM25: &BM25{K1: 2, B: 0.9}})
			_, err = other.Search(t.Context(), Query{Text: "w5"})
			failed["other BM25"] = other.check("other BM25", err)
			failed["verify"] = ix.check("verify", ix.Verify(t.Context(), nil))
			_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
			ix.check("impacts", err)
			_, err = ix.Merge(t.Context(), MergeOptions{Reorder: ReorderBP}) // rewrites the segment
			ix.check("merge", err)
			if !failed[calls] || !failed["verify"] {
				t.Errorf("%s and verify must fail, failed: %v", calls, failed)
			}
		})
	}
}

// Traversals read posting lists in Go and in assembly.
func TestTruncatedUnderTraversals(t *testing.T) {
	skipWithoutMapping(t)
	for _, codec := range Codecs() {
		t.Run(codec, func(t *testing.T) {
			dir := newTestIndexWith(t, truncationDocs(), Settings{Codec: codec}, Options{}).ix.Dir()
			ix := openTruncated(t, dir, "seg-000001/postings", Options{})
			for _, mode := range []Mode{ModeOr, ModeAnd} {
				for _, name := range Traversals(mode) {
					_, err := ix.Search(t.Context(), Query{Text: "w1 w2 w3", Mode: mode, Traversal: name})
					if !ix.check(name, err) {
						t.Errorf("%s reads no list", name)
					}
				}
			}
		})
	}
}

// Concurrent scheduled searches return the error and do not hang; afterwards other searches
// succeed.
func TestTruncatedUnderLoad(t *testing.T) {
	skipWithoutMapping(t)
	dir := newTestIndex(t, truncationDocs()).ix.Dir()
	ix := openTruncated(t, dir, "seg-000001/position", Options{Runtime: newTestRuntime(t, RuntimeOptions{Limits: &Limits{Running: 2, Waiting: 100}})})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				if i%2 == 0 {
					_, err := ix.Search(ctx, Query{Text: fmt.Sprintf(`"w%d w%d"`, g, i%5)})
					ix.check("phrase", err)
					continue
				}
				if r, err := ix.Search(ctx, Query{Text: "w1 w2"}); err != nil || len(r.Hits) == 0 {
					t.Errorf("a search that does not read the file: %v", err)
				}
			}
		})
	}
	wg.Wait()
	_, err := ix.Search(ctx, Query{Text: `"w1 w2"`})
	if !ix.check("phrase", err) {
		t.Error("a phrase reads no positions")
	}
}

// Go, not the driver, reads the lists that are copied to a GPU. A search that needs a truncated
// list fails; searches with lists in device memory succeed.
func TestTruncatedOnGPU(t *testing.T) {
	skipWithoutMapping(t)
	t.Setenv("GRIFFIN_CUDA_LIBRARY", gputest.Library(t).Path())
	dir := newTestIndexWith(t, truncationDocs()[:400], Settings{NoStored: true}, Options{}).ix.Dir()
	for _, queues := range []bool{false, true} {
		t.Run(fmt.Sprintf("queues=%t", queues), func(t *testing.T) {
			o := RuntimeOptions{GPU: GPUOptions{Device: "0", Memory: MemorySize{Bytes: 8 << 20}}, Policy: PolicyGPU}
			if queues {
				o.Limits = &Limits{Running: 2, Waiting: 100}
			}
			ix := openTruncated(t, dir, "seg-000001/postings", Options{Runtime: newTestRuntime(t, o)})
			for range 2 {
				if _, err := ix.Search(t.Context(), Query{Text: "w2 w3"}); !ix.check("lists that are not on the GPU", err) {
					t.Error("a search reads no list")
				}
				if r, err := ix.Search(t.Context(), Query{Text: "w1"}); err != nil || r.Traversal != "gpu" || len(r.Hits) == 0 {
					t.Errorf("list on the GPU: %+v, %v", r, err)
				}
			}
		})
	}
}

// Indexes of a Runtime share the batches of a GPU. Concurrent searches of the sound index are
// answered.
func TestTruncatedBesideAnotherIndex(t *testing.T) {
	skipWithoutMapping(t)
	t.Setenv("GRIFFIN_CUDA_LIBRARY", gputest.Library(t).Path())
	r := newTestRuntime(t, RuntimeOptions{
		GPU: GPUOptions{Device: "0", Memory: MemorySize{Bytes: 8 << 20}}, Policy: PolicyGPU, Limits: &Limits{Running: 2, Waiting: 100},
	})
	sound := newTestIndexWith(t, truncationDocs()[:400], Settings{NoStored: true}, Options{Runtime: r})
	queries := []string{"w2 w3", "+w4 +w2", "w5", "w7 w2 w6", "w8 w3"}
	want := map[string][]Hit{}
	for _, q := range queries {
		// On the CPU, so that no list is on the GPU before.
		a, err := sound.Search(t.Context(), Query{Text: q, Policy: PolicyCPU})
		if err != nil || len(a.Hits) == 0 {
			t.Fatal(a, err)
		}
		want[q] = a.Hits
	}
	dir := newTestIndexWith(t, truncationDocs()[:450], Settings{NoStored: true}, Options{}).ix.Dir()
	damaged := openTruncated(t, dir, "seg-000001/postings", Options{Runtime: r})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2 * len(queries) {
				q := queries[(g+i)%len(queries)]
				if g%2 == 0 {
					if _, err := damaged.Search(t.Context(), Query{Text: q}); !damaged.check(q, err) {
						t.Errorf("%s: a search reads no list", q)
					}
					continue
				}
				if a, err := sound.Search(t.Context(), Query{Text: q}); err != nil || !reflect.DeepEqual(a.Hits, want[q]) {
					t.Errorf("%s, beside a truncated file: %+v, %v", q, a, err)
				}
			}
		})
	}
	wg.Wait()
	if a, err := sound.SearchBatch(t.Context(), []Query{{Text: "w2 w3"}, {Text: "w5"}}); err != nil || a[0].Err != nil || a[1].Err != nil || a[1].Traversal != "gpu" {
		t.Errorf("batch: %+v, %v", a, err)
	}
	a, err := damaged.SearchBatch(t.Context(), []Query{{Text: "w2 w3"}, {Text: "w5"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		if !damaged.check("batch", a[i].Err) {
			t.Errorf("query %d of a batch reads no list", i)
		}
	}
}
