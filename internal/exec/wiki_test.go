package exec

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/internal/vfs"
)

// exhaustive is the traversal that the others are compared with.
const exhaustive = "exhaustive-daat"

// wikiKs are the k that answers are compared for.
var wikiKs = []int{10, 1000}

// On all wiki passages every traversal, in one segment with the default codec
// and in three with another, gives the hits of the exhaustive traversal over one
// segment, scores and ties included, for the first 1,000 TB05 queries. DocIDs
// follow the corpus whatever the segments are, so that the lists can be compared
// as they are.
func TestWikiAgreement(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes 750,000 passages twice: left out with -short")
	}
	paths, queries := shareddata.Wiki(t), shareddata.Queries(t, "tb05-1000.tsv")
	several := make([][]string, len(paths))
	for i, path := range paths {
		several[i] = []string{path}
	}
	var want []wikiAnswers
	for _, layout := range []wikiLayout{
		{codec: codec.Default, parts: [][]string{paths}},
		{codec: "ef", parts: several},
	} {
		t.Run(layout.name(), func(t *testing.T) {
			s := layout.searcher(t)
			if want == nil {
				want = exhaustiveAnswers(t, s, queries)
			} else {
				queries = queries[:300]
			}
			compareAll(t, s, queries, want, []Mode{ModeOr, ModeAnd})
		})
	}
}

// On a slice of the passages every traversal over every codec gives the hits of
// the exhaustive traversal over uncompressed lists: in natural order in one
// segment or in three, and in either shuffled order or that of recursive graph
// bisection. Codecs take turns, so that each comes up in two of the four.
func TestWikiSliceAgreement(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes 12,000 passages twice for each codec: left out with -short")
	}
	natural := wikiSlice(t, 12_000)
	shuffled := slices.Clone(natural)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	dir := t.TempDir()
	one := [][]string{{writeLines(t, dir, "one", natural)}}
	var three [][]string
	for i := range 3 {
		three = append(three, []string{writeLines(t, dir, fmt.Sprintf("part%d", i), natural[i*4000:(i+1)*4000])})
	}
	mixed := [][]string{{writeLines(t, dir, "shuffled", shuffled)}}
	queries := slices.Concat(shareddata.Queries(t, "tb05-1000.tsv")[:60], shareddata.Queries(t, "tb06-1000.tsv")[:40])
	for _, group := range []struct {
		name    string
		layouts [2]wikiLayout // by turns; all with the same DocIDs
	}{
		{"natural", [2]wikiLayout{{parts: one}, {parts: three}}},
		{"shuffled", [2]wikiLayout{{parts: mixed}, {}}},
		{"bisected", [2]wikiLayout{{}, {parts: one, reorder: index.ReorderBP}}},
	} {
		t.Run("order="+group.name, func(t *testing.T) {
			var want []wikiAnswers
			for i, name := range append([]string{"raw"}, codec.Names()...) {
				layout := group.layouts[i%2]
				if want == nil && layout.parts == nil {
					layout = group.layouts[1]
				}
				if layout.parts == nil {
					continue
				}
				layout.codec = name
				t.Run(layout.name(), func(t *testing.T) {
					s := layout.searcher(t)
					if want == nil {
						want = exhaustiveAnswers(t, s, queries)
					}
					compareAll(t, s, queries, want, []Mode{ModeOr, ModeAnd, ModeAndOr})
				})
			}
		})
	}
}

// wikiSlice returns the first n passages, as lines of JSON.
func wikiSlice(t *testing.T, n int) []string {
	var slice []string
	lines := bufio.NewScanner(shareddata.OpenWiki(t))
	lines.Buffer(nil, 1<<24)
	for len(slice) < n && lines.Scan() {
		slice = append(slice, lines.Text())
	}
	if err := lines.Err(); err != nil || len(slice) < n {
		t.Fatalf("%d passages of %d: %v", len(slice), n, err)
	}
	return slice
}

// writeLines writes a JSONL file and returns its path.
func writeLines(t *testing.T, dir, name string, lines []string) string {
	path := filepath.Join(dir, name+".jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// wikiLayout is a way to index passages.
type wikiLayout struct {
	codec   string
	reorder string
	parts   [][]string // files of each segment
}

func (l *wikiLayout) name() string { return fmt.Sprintf("codec=%s/segments=%d", l.codec, len(l.parts)) }

func (l *wikiLayout) searcher(t *testing.T) *Searcher {
	ix, err := index.Create(vfs.OS, filepath.Join(t.TempDir(), "wiki"), index.Options{Analyzer: "simple", Codec: l.codec, NoStored: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ix.Close() })
	for _, part := range l.parts {
		reader, err := corpus.Open(part, corpus.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ix.Build(context.Background(), reader, index.BuildOptions{Reorder: l.reorder}); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := testSnapshot(t, ix)
	if got := len(snapshot.Segments); got != len(l.parts) {
		t.Fatalf("%d segments, want %d", got, len(l.parts))
	}
	return NewSearcher(snapshot, nil)
}

// wikiAnswers are the best 1,000 hits of a query in modes or and and.
type wikiAnswers struct{ or, and []base.Hit }

// best returns the hits in a mode with k.
func (a *wikiAnswers) best(mode Mode, k int) []base.Hit {
	hits := a.or
	if mode == ModeAnd || mode == ModeAndOr && len(a.and) >= k {
		hits = a.and
	}
	return hits[:min(len(hits), k)]
}

// exhaustiveAnswers answers all queries by the exhaustive traversal.
func exhaustiveAnswers(t *testing.T, s *Searcher, queries []shareddata.Query) []wikiAnswers {
	answers := make([]wikiAnswers, len(queries))
	forAllQueries(t, queries, func(sc *Scratch, i int) bool {
		k := slices.Max(wikiKs)
		answers[i].or = wikiAnswer(t, s, sc, queries[i].Text, Options{Mode: ModeOr, K: k, Traversal: exhaustive})
		answers[i].and = wikiAnswer(t, s, sc, queries[i].Text, Options{Mode: ModeAnd, K: k, Traversal: exhaustive})
		return true
	})
	return answers
}

// compareAll compares the hits of all traversals, in those of the modes that they
// answer, and of the planner's choice with those of want.
func compareAll(t *testing.T, s *Searcher, queries []shareddata.Query, want []wikiAnswers, modes []Mode) {
	t.Helper()
	names := append([]string{""}, Traversals(ModeAndOr)...)
	forAllQueries(t, queries, func(sc *Scratch, i int) bool {
		for _, name := range names {
			if name == exhaustive && len(queries) > 300 { // with itself
				continue
			}
			for _, mode := range modes {
				if name != "" && !slices.Contains(Traversals(mode), name) {
					continue
				}
				for _, k := range wikiKs {
					hits := wikiAnswer(t, s, sc, queries[i].Text, Options{Mode: mode, K: k, Traversal: name})
					if best := want[i].best(mode, k); !slices.Equal(hits, best) {
						t.Errorf("query %q, mode %s, k=%d, traversal %q: hits differ from those of the exhaustive one:\n%v\n%v",
							queries[i].Text, mode, k, name, head(hits), head(best))
						return false
					}
				}
			}
		}
		return true
	})
}

// forAllQueries calls f with the place of each query, from as many goroutines as
// there are processors, until it returns false.
func forAllQueries(t *testing.T, queries []shareddata.Query, f func(sc *Scratch, i int) bool) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		sc := testScratch(t, "simple")
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(queries); i = int(next.Add(1)) - 1 {
				if !f(sc, i) {
					return
				}
			}
		})
	}
	wg.Wait()
}

func head(hits []base.Hit) []base.Hit { return hits[:min(len(hits), 10)] }

// wikiAnswer does not end the test, as it runs on other goroutines.
func wikiAnswer(t *testing.T, s *Searcher, sc *Scratch, text string, opts Options) []base.Hit {
	plan, err := s.Prepare(sc, &query.Words{Text: text, Boost: 1}, opts)
	if err != nil {
		t.Error(err)
		return nil
	}
	a, err := plan.Run(context.Background(), sc, nil)
	if err != nil {
		t.Error(err)
	}
	return a.Hits
}
