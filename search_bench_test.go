package griffin

import (
	"fmt"
	"testing"
)

// BenchmarkSearch measures the fixed cost of a search over very few postings, with and without
// stored documents.
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

// BenchmarkSearchBatch compares SearchBatch with single searches without stored documents.
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
