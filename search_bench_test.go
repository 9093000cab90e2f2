package griffin

import (
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/plan"
)

// BenchmarkSearch measures the fixed cost, with and without stored documents.
func BenchmarkSearch(b *testing.B) {
	var docs []Document
	for i := range 100 {
		docs = append(docs, Document{ID: fmt.Sprint(i), Title: "Animals", Text: fmt.Sprintf("The cat number %d sat on the mat with a dog.", i)})
	}
	ix := newTestIndex(b, docs)
	for _, bench := range []struct {
		name  string
		query Query
	}{
		{"ids", Query{Load: LoadIDs}},
		{"titles", Query{}},
		{"snippets", Query{SnippetLength: DefaultSnippetLength}},
	} {
		bench.query.Text = "cat dog"
		b.Run("hits="+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ix.Search(b.Context(), bench.query); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSearchBatch reads no stored documents.
func BenchmarkSearchBatch(b *testing.B) {
	ix := newTestIndexWith(b, truncationDocs(), Settings{NoStored: true, NoPositions: true}, Options{})
	queries := make([]Query, 1000)
	for i := range queries {
		queries[i] = Query{Text: fmt.Sprintf("w%d w%d", i%40, i%31), Load: LoadNone}
	}
	b.Run("api=batch", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ix.SearchBatch(b.Context(), queries); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*len(queries))/b.Elapsed().Seconds(), "queries/s")
	})
	b.Run("api=search", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, q := range queries {
				if _, err := ix.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.N*len(queries))/b.Elapsed().Seconds(), "queries/s")
	})
}

// BenchmarkBatchHost measures the work of CPUs beside a GPU: planning and completing queries,
// without searching.
func BenchmarkBatchHost(b *testing.B) {
	ix := newTestIndexWith(b, truncationDocs(), Settings{NoPositions: true}, Options{})
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	defer snapshot.Release()
	const n = 1000
	for name, load := range map[string]Load{"none": LoadNone, "ids": LoadIDs} {
		batch := &batch{ctx: b.Context(), index: ix, snapshot: snapshot, searcher: ix.searcher(snapshot), results: make([]BatchResult, n)}
		for i := range n {
			batch.queries = append(batch.queries, Query{Text: fmt.Sprintf("w%d w%d", i%40, i%31), Load: load})
		}
		w, err := batch.NewWorker()
		if err != nil {
			b.Fatal(err)
		}
		plans := make([]dispatch.Query, n)
		answers := make([]plan.Answer, n)
		for i := range answers {
			for j := range DefaultK {
				answers[i].Hits = append(answers[i].Hits, base.Hit{DocID: base.DocID((i + 97*j) % 3000), Score: 1 << 16})
			}
		}
		steps := []struct {
			name string
			do   func(i int) error
		}{
			{"plan", func(i int) error {
				_, err := w.Prepare(i, &plans[i])
				return err
			}},
			{"complete", func(i int) error { return w.Complete(i, &plans[i], &answers[i]) }},
		}
		for _, step := range steps {
			b.Run(fmt.Sprintf("load=%s/step=%s", name, step.name), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i = (i + 1) % n {
					if err := step.do(i); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		w.Release()
	}
}
