package griffin

import (
	"encoding/json"
	"testing"

	"github.com/griffin-search/griffin/internal/shareddata"
)

// BenchmarkFetch measures documents of answers that the result cache has: ids, titles, and snippets of wiki passages.
// The snippets of kept hits are not made again.
func BenchmarkFetch(b *testing.B) {
	docs := make([]Document, 20_000)
	passages := json.NewDecoder(shareddata.OpenWiki(b))
	for i := range docs {
		if err := passages.Decode(&docs[i]); err != nil {
			b.Fatal(err)
		}
	}
	ix := newTestIndexWith(b, docs, Settings{}, Options{ResultCache: 64 << 20})
	log := shareddata.Queries(b, "tb05-1000.tsv")
	for _, bench := range []struct {
		name  string
		query Query
	}{
		{"ids", Query{Load: LoadIDs}},
		{"titles", Query{}},
		{"snippets", Query{SnippetLength: DefaultSnippetLength}},
		{"kept", Query{SnippetLength: DefaultSnippetLength}},
	} {
		b.Run("hits="+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q := bench.query
				q.Text = log[i%len(log)].Text
				if bench.name == "snippets" {
					q.SnippetLength += i / len(log) % 2 // other hits than the kept ones
				}
				if _, err := ix.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
