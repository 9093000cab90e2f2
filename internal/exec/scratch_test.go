package exec

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/griffin-search/griffin/internal/query"
)

// What a query has while it waits for a processor is small, whatever it ran before: under
// load there are as many that wait as arrive.
func TestScratchKeepsNoTraversal(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	s := NewSearcher(testSnapshot(t, randomIndex(t, rng, 900, 2, true)), nil)
	scratches := make([]*Scratch, 100)
	before := heapInUse()
	for i := range scratches {
		sc := testScratch(t, "whitespace")
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			for _, name := range append(Traversals(mode), "") {
				p, err := s.Prepare(sc, &query.Words{Text: "w0 w1 w2", Boost: 1}, Options{Mode: mode, K: 10, Traversal: name})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.Run(context.Background(), sc, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		scratches[i] = sc
	}
	each := (heapInUse() - before) / int64(len(scratches))
	t.Logf("%d bytes each", each)
	if each > 32<<10 {
		t.Errorf("each keeps %d bytes", each)
	}
	runtime.KeepAlive(scratches)
}
