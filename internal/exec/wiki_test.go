package exec

import (
	"context"
	"fmt"
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

// On the wiki passages every traversal, over every codec, in one segment and in
// three, gives the hits of the exhaustive traversal over one segment, scores and
// ties included, for the first 1,000 TB05 queries. DocIDs follow the corpus
// whatever the segments are, so that the lists can be compared as they are.
func TestWikiAgreement(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes 750,000 passages four times: left out with -short")
	}
	paths, queries := shareddata.Wiki(t), shareddata.Queries(t, "tb05-1000.tsv")
	layouts := wikiLayouts(paths)
	var oracle map[string][]base.Hit
	for _, layout := range layouts {
		t.Run(layout.name, func(t *testing.T) {
			snapshot := testSnapshot(t, layout.build(t))
			if got := len(snapshot.Segments); got != len(layout.parts) {
				t.Fatalf("%d segments, want %d", got, len(layout.parts))
			}
			s := NewSearcher(snapshot, nil)
			if oracle == nil {
				oracle = answerAll(t, s, queries, exhaustive, nil)
			}
			for _, mode := range []Mode{ModeOr, ModeAnd} {
				for _, name := range Traversals(mode) {
					answerAll(t, s, queries, map[Mode]string{mode: name}, oracle)
				}
			}
		})
	}
}

// exhaustive names the oracle of each mode.
var exhaustive = map[Mode]string{ModeOr: "exhaustive-daat", ModeAnd: "exhaustive-daat"}

type wikiLayout struct {
	name  string
	codec string
	parts [][]string // files of each segment
}

// wikiLayouts puts each codec in one segment and in several.
func wikiLayouts(paths []string) []wikiLayout {
	several := make([][]string, len(paths))
	for i, path := range paths {
		several[i] = []string{path}
	}
	var layouts []wikiLayout
	for _, parts := range [][][]string{{paths}, several} {
		for _, name := range codec.Names() {
			layouts = append(layouts, wikiLayout{
				name:  fmt.Sprintf("codec=%s/segments=%d", name, len(parts)),
				codec: name, parts: parts,
			})
		}
	}
	return layouts
}

func (l *wikiLayout) build(t *testing.T) *index.Index {
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
		if _, err := ix.Build(context.Background(), reader, index.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return ix
}

// answerAll answers all queries with k = 10 and 1000 in the modes of traversals
// by the traversals named. It returns the hits by "mode/k/query", or compares
// them with those of want.
func answerAll(t *testing.T, s *Searcher, queries []shareddata.Query, traversals map[Mode]string, want map[string][]base.Hit) map[string][]base.Hit {
	t.Helper()
	got := map[string][]base.Hit{}
	var mu sync.Mutex
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		sc := testScratch(t, "simple")
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(queries); i = int(next.Add(1)) - 1 {
				for mode, name := range traversals {
					for _, k := range []int{10, 1000} {
						key := fmt.Sprintf("%s/%d/%s", mode, k, queries[i].ID)
						hits := wikiAnswer(t, s, sc, queries[i].Text, Options{Mode: mode, K: k, Traversal: name})
						if want != nil {
							if !slices.Equal(hits, want[key]) {
								t.Errorf("%s, traversal %s: hits differ from the oracle's:\n%v\n%v", key, name, head(hits), head(want[key]))
								return
							}
							continue
						}
						mu.Lock()
						got[key] = hits
						mu.Unlock()
					}
				}
			}
		})
	}
	wg.Wait()
	return got
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
