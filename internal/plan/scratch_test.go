package plan

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

// Under overload many queries wait, so each keeps little memory.
func TestScratchKeepsNoTraversal(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 900, 2, true)), nil)
	scratches := make([]*Scratch, 100)
	before := plantest.HeapInUse()
	for i := range scratches {
		sc := testScratch(t, "whitespace")
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			for _, name := range append(Traversals(mode), "") {
				p, err := s.Prepare(sc, &query.Words{Text: "w0 w1 w2", Boost: 1}, Options{Mode: mode, K: 10, Traversal: name})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.RunCPU(context.Background(), sc, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		scratches[i] = sc
	}
	each := (plantest.HeapInUse() - before) / int64(len(scratches))
	t.Logf("%d bytes each", each)
	if each > 32<<10 {
		t.Errorf("each Scratch keeps %d bytes", each)
	}
	runtime.KeepAlive(scratches)
}
