package plan

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
)

const exhaustive = "exhaustive-daat"

var wikiKs = []int{10, 1000}

// TestWikiAgreement compares every traversal with the exhaustive one on the wiki passages and
// the first 1,000 TB05 queries, with scores and ties: in one segment with the default codec,
// and in one per file with another. DocIDs follow the corpus, so the hits are equal. By default
// it takes the first 40,000 passages as two files, and draws 100 queries.
func TestWikiAgreement(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes 250,000 passages twice: left out with -short")
	}
	paths := shareddata.Wiki(t)
	if !sampletest.All() {
		const half = 20_000
		dir, slice := t.TempDir(), plantest.WikiSlice(t, 2*half)
		paths = []string{plantest.WriteLines(t, dir, "one", slice[:half]), plantest.WriteLines(t, dir, "two", slice[half:])}
	}
	queries := sampletest.Some(t, 100, shareddata.Queries(t, "tb05-1000.tsv"))
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
				queries = queries[:min(300, len(queries))]
			}
			compareAll(t, s, queries, want, []Mode{ModeOr, ModeAnd})
		})
	}
}

// TestWikiSliceAgreement compares every traversal over every codec with the exhaustive one over
// uncompressed lists, on 12,000 passages in natural, shuffled and bisected order, in one
// segment or three. Codecs alternate between layouts, so each runs in two of four. By default
// it draws 4 codecs.
func TestWikiSliceAgreement(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes 12,000 passages twice for each codec: left out with -short")
	}
	natural := plantest.WikiSlice(t, 12_000)
	shuffled := slices.Clone(natural)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	dir := t.TempDir()
	one := [][]string{{plantest.WriteLines(t, dir, "one", natural)}}
	var three [][]string
	for i := range 3 {
		three = append(three, []string{plantest.WriteLines(t, dir, fmt.Sprintf("part%d", i), natural[i*4000:(i+1)*4000])})
	}
	mixed := [][]string{{plantest.WriteLines(t, dir, "shuffled", shuffled)}}
	queries := slices.Concat(shareddata.Queries(t, "tb05-1000.tsv")[:60], shareddata.Queries(t, "tb06-1000.tsv")[:40])
	for _, group := range []struct {
		name    string
		layouts [2]wikiLayout // alternating; all with the same DocIDs
	}{
		{"natural", [2]wikiLayout{{parts: one}, {parts: three}}},
		{"shuffled", [2]wikiLayout{{parts: mixed}, {}}},
		{"bisected", [2]wikiLayout{{}, {parts: one, reorder: index.ReorderBP}}},
	} {
		t.Run("order="+group.name, func(t *testing.T) {
			var want []wikiAnswers
			for i, name := range append([]string{"raw"}, sampletest.Some(t, 4, codec.Names())...) {
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

type wikiLayout struct {
	codec   string
	reorder string
	parts   [][]string // files of each segment
}

func (l *wikiLayout) name() string { return fmt.Sprintf("codec=%s/segments=%d", l.codec, len(l.parts)) }

func (l *wikiLayout) searcher(t *testing.T) *Planner {
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
	snapshot := indextest.Snapshot(t, ix)
	if got := len(snapshot.Segments); got != len(l.parts) {
		t.Fatalf("%d segments, want %d", got, len(l.parts))
	}
	return New(snapshot, nil)
}

// wikiAnswers are a query's best 1,000 hits.
type wikiAnswers struct{ or, and []base.Hit }

func (a *wikiAnswers) best(mode Mode, k int) []base.Hit {
	hits := a.or
	if mode == ModeAnd || mode == ModeAndOr && len(a.and) >= k {
		hits = a.and
	}
	return hits[:min(len(hits), k)]
}

func exhaustiveAnswers(t *testing.T, s *Planner, queries []shareddata.Query) []wikiAnswers {
	answers := make([]wikiAnswers, len(queries))
	forAllQueries(t, queries, func(sc *Scratch, i int) bool {
		k := slices.Max(wikiKs)
		answers[i].or = wikiAnswer(t, s, sc, queries[i].Text, Options{Mode: ModeOr, K: k, Traversal: exhaustive})
		answers[i].and = wikiAnswer(t, s, sc, queries[i].Text, Options{Mode: ModeAnd, K: k, Traversal: exhaustive})
		return true
	})
	return answers
}

// compareAll compares all traversals and the planner's choice with want.
func compareAll(t *testing.T, s *Planner, queries []shareddata.Query, want []wikiAnswers, modes []Mode) {
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
						t.Errorf("query %q, mode %s, k=%d, traversal %q: hits differ from the exhaustive traversal's:\n%v\n%v",
							queries[i].Text, mode, k, name, head(hits), head(best))
						return false
					}
				}
			}
		}
		return true
	})
}

// forAllQueries uses GOMAXPROCS goroutines until f returns false.
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

// wikiAnswer does not call Fatal because it runs on other goroutines.
func wikiAnswer(t *testing.T, s *Planner, sc *Scratch, text string, opts Options) []base.Hit {
	plan, err := s.Prepare(sc, &query.Words{Text: text, Boost: 1}, opts)
	if err != nil {
		t.Error(err)
		return nil
	}
	a, err := plan.RunCPU(context.Background(), sc, nil, nil)
	if err != nil {
		t.Error(err)
	}
	return a.Hits
}
