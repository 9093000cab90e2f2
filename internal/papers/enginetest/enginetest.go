package enginetest

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
	"github.com/griffin-search/griffin/trec"
)

// Open opens an engine of the registry on the CPU until the end of the test.
func Open(t testing.TB, spec string) engine.Engine {
	t.Helper()
	s, err := engine.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Open(engine.Resources{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	Close(t, e)
	return e
}

// Close closes an engine at the end of the test.
func Close(t testing.TB, e engine.Engine) {
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// CompareAnswers answers the texts, bags of words, by the engine and by the plan on the CPU. Several
// goroutines search at the same time, if there are several batches.
func CompareAnswers(t *testing.T, e engine.Engine, snapshot *index.Snapshot, o plan.Options, texts []string) {
	t.Helper()
	if err := e.Adapt(&o); err != nil {
		t.Fatal(err)
	}
	planner := plan.New(snapshot, nil)
	sc, err := plan.NewScratch(snapshot.Options.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	var queries []*engine.Query
	var want []plan.Answer
	for _, text := range texts {
		p, err := planner.Prepare(sc, &query.Words{Text: text, Boost: 1}, o)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		a, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want = append(want, a)
		queries = append(queries, &engine.Query{Plan: p})
	}
	searchAll(t, e, snapshot.Options.Analyzer, queries)
	unsettled := 0
	for i, q := range queries {
		if q.Err != nil {
			t.Fatalf("%q in mode %v: %v", texts[i], o.Mode, q.Err)
		}
		a, w := &q.Answer, &want[i]
		if settled := q.Settled; !settled {
			if a.Hits, settled = plan.Settle(q.Plan, a.Hits); !settled {
				unsettled++
				if len(a.Hits) != min(plan.SelectK(q.Plan), snapshot.NumDocs) {
					t.Fatalf("%q, mode %v, k %d: %d hits cannot be settled", texts[i], o.Mode, o.K, len(a.Hits))
				}
				continue
			}
		}
		if !slices.Equal(a.Hits, w.Hits) || a.Mode != w.Mode || a.Matches != w.Matches {
			t.Fatalf("%q, mode %v, k %d: %d matches in mode %v, hits\n%v\nwant %d in mode %v,\n%v", texts[i], o.Mode, o.K, a.Matches, a.Mode, a.Hits, w.Matches, w.Mode, w.Hits)
		}
	}
	if unsettled > len(queries)/2 {
		t.Errorf("mode %v, k %d: the ties of %d of %d answers cannot be settled", o.Mode, o.K, unsettled, len(queries))
	}
}

func searchAll(t *testing.T, e engine.Engine, analyzer string, queries []*engine.Query) {
	t.Helper()
	const goroutines = 3
	var group sync.WaitGroup
	batches := make(chan []*engine.Query)
	for range goroutines {
		sc, err := plan.NewScratch(analyzer)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for batch := range batches {
				for _, q := range batch {
					q.Scratch = sc
				}
				if err := e.Search(context.WithoutCancel(t.Context()), batch); err != nil {
					t.Errorf("batch of %d queries: %v", len(batch), err)
				}
			}
		})
	}
	for batch := range slices.Chunk(queries, min(e.BatchSize(), max(len(queries)/goroutines, 1))) {
		batches <- batch
	}
	close(batches)
	group.Wait()
}

// CompareRandom compares on random indexes of several segments, without and with deleted documents:
// frequent and rare words, repeated and missing ones, one word to eight. Some are reordered.
func CompareRandom(t *testing.T, e engine.Engine, rounds int, modes ...plan.Mode) {
	rng := rand.New(rand.NewPCG(uint64(rounds), 1))
	for round := range sampletest.UnderRace(rounds, 2) {
		deletes := round%2 == 1
		ix := plantest.RandomIndex(t, rng, 200+rng.IntN(800), 1+rng.IntN(3), deletes)
		if round%4 == 2 {
			plantest.Reorder(t, ix)
		}
		var texts []string
		for range 40 {
			text := plantest.RandomWords(rng, 1+rng.IntN(8))
			if rng.IntN(20) == 0 {
				text += " missing"
			}
			texts = append(texts, text)
		}
		snapshot := Impacts(t, ix)
		for _, mode := range modes {
			for _, k := range sampletest.UnderRace([]int{1, 10, 300}, []int{10}) {
				CompareAnswers(t, e, snapshot, plan.Options{Mode: mode, K: k, Count: k == 10}, texts)
			}
		}
	}
}

// Impacts builds impact-ordered lists and returns a snapshot.
func Impacts(t *testing.T, ix *index.Index) *index.Snapshot {
	t.Helper()
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	return indextest.Snapshot(t, ix)
}

// Wiki returns an index of the first n passages of the wiki collection in two segments, and
// queries of the log TB05.
func Wiki(t *testing.T, n, numQueries int) (*index.Index, []string) {
	t.Helper()
	lines := plantest.WikiSlice(t, n)
	dir := t.TempDir()
	ix := build(t, plantest.WriteLines(t, dir, "a", lines[:n/2]), plantest.WriteLines(t, dir, "b", lines[n/2:]))
	var texts []string
	for _, q := range shareddata.Queries(t, "tb05-1000.tsv")[:numQueries] {
		texts = append(texts, q.Text)
	}
	return ix, texts
}

// Collection returns an index of a judged collection and its first queries.
func Collection(t *testing.T, name string, numQueries int) (*index.Index, []string) {
	t.Helper()
	c := shareddata.OneCollection(t, name)
	f, err := os.Open(c.Queries)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	topics, err := trec.ReadTopics(f)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, topic := range topics[:min(numQueries, len(topics))] {
		texts = append(texts, topic.Title)
	}
	return build(t, c.Corpus), texts
}

func build(t *testing.T, paths ...string) *index.Index {
	t.Helper()
	ix, err := index.Create(vfs.OS, t.TempDir()+"/index", index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	for _, path := range paths {
		reader, err := corpus.Open([]string{path}, corpus.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ix.Build(t.Context(), reader, index.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return ix
}
