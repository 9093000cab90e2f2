package column_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
)

// Goroutines share a column.
func TestConcurrentReaders(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	docs := make([][]int64, 3000)
	for i := range docs {
		for range rng.IntN(3) {
			docs[i] = append(docs[i], rng.Int64N(1000))
		}
		slices.Sort(docs[i])
	}
	o := numbersOf(docs)
	payload := encode(t, len(docs), func(w *column.Writer) error { return writeNumbers(w, "n", docs) })
	c, _ := open(t, payload, len(docs)).Column("n")
	want := make([]uint64, (len(docs)+63)/64)
	o.matching(want, func(v int64) bool { return 200 <= v && v <= 700 })
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			cursor := c.Cursor()
			for range 20 {
				words := make([]uint64, len(want))
				if err := c.Range(200, 700, words); err != nil || !slices.Equal(words, want) {
					t.Errorf("other documents, %v", err)
					return
				}
				for doc := range docs {
					if values, err := cursor.Values(base.DocID(doc)); err != nil || !slices.Equal(values, o.docs[doc]) {
						t.Errorf("document %d has %v, %v, want %v", doc, values, err, o.docs[doc])
						return
					}
				}
			}
		})
	}
	readers.Wait()
}
