package griffin

import (
	"fmt"
	"testing"
)

// BenchmarkSearch measures a whole search where the postings are next to none:
// parsing, planning, running, and the ten hits with and without their texts.
func BenchmarkSearch(b *testing.B) {
	var docs []Document
	for i := range 100 {
		docs = append(docs, Document{ID: fmt.Sprint(i), Title: "Animals", Text: fmt.Sprintf("The cat number %d sat on the mat with a dog.", i)})
	}
	ix := newTestIndex(b, docs)
	for _, bench := range []struct {
		name string
		opts []SearchOption
	}{
		{"ids", []SearchOption{WithIDsOnly()}},
		{"titles", nil},
		{"snippets", []SearchOption{WithSnippets()}},
	} {
		b.Run("hits="+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ix.Search(b.Context(), "cat dog", bench.opts...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
