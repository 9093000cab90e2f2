package traverse_test

import (
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// The traversals agree on the query logs.
func TestWikiAgreement(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the wiki passages")
	}
	w := loadWiki(t)
	var s traverse.Scratch
	var queue topk.Queue
	for _, log := range queryLogs {
		for i, terms := range readQueries(t, log) {
			if i%10 != 0 {
				continue
			}
			q := w.query(terms)
			for _, mode := range []traverse.Mode{traverse.Or, traverse.And} {
				for _, k := range []int{10, 1000} {
					var want []base.Hit
					for _, name := range []string{"exhaustive-taat", traverse.Default(mode).Name()} {
						tr, err := traverse.Lookup(mode, name)
						if err != nil {
							t.Fatal(err)
						}
						queue.Reset(k)
						if err := tr.Run(t.Context(), &s, &q, &queue); err != nil {
							t.Fatal(err)
						}
						got := queue.AppendSorted(nil)
						if want == nil {
							want = got
						} else if !slices.Equal(got, want) {
							t.Fatalf("%v %v %s k=%d: differs", terms, mode, name, k)
						}
					}
				}
			}
		}
	}
}
