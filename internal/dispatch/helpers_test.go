package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

func frequentBatch(t testing.TB, rng *rand.Rand, n int) []query.Node {
	queries := make([]query.Node, n)
	for i := range queries {
		terms := make([]string, 1+rng.IntN(3))
		for j := range terms {
			terms[j] = fmt.Sprint("w", rng.IntN(4))
		}
		queries[i] = plantest.Parse(t, strings.Join(terms, " "))
	}
	return queries
}

// CPUs answer part of a batch; lists that come back come from page-locked memory.
func TestHelpersShortMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 1))
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 48 << 10}, Lanes: 2})
	snapshot := indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 6000))
	p := newGPUPair(t, snapshot, g)
	queries := 0
	var wg sync.WaitGroup
	for i := range 2 {
		rng := rand.New(rand.NewPCG(26, uint64(i)))
		p := *p
		p.sc = testScratch(t, "whitespace")
		wg.Go(func() {
			for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr} {
				p.checkBatch(t, frequentBatch(t, rng, 24), Options{Mode: mode, K: 10})
			}
		})
		queries += 3 * 24
	}
	wg.Wait()
	for range 3 {
		p.checkBatch(t, frequentBatch(t, rng, 24), Options{K: 10, Count: true})
		queries += 24
		g.unaided = true // CPUs may have answered every query before the GPU
	}
	s := g.Stats()
	d := &s.Devices[0]
	if s.OnGPU == 0 || s.OnGPU+s.OnCPU != int64(queries) || d.Errors != 0 || d.Host.SizeBytes == 0 || d.Misses == 0 || d.SizeBytes > d.LimitBytes {
		t.Errorf("%+v: want %d queries, some of them on the GPU, and lists in page-locked memory", s, queries)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	searcher := NewSearcher(snapshot, nil)
	searcher.Use(withoutPool(g))
	prepared, err := searcher.Prepare(p.sc, plantest.Parse(t, "w0 w1"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := searcher.dispatcher.SearchPrepared(ctx, []*Query{prepared, prepared}, new(BatchScratch), make([]plan.Answer, 2)); !errors.Is(err, context.Canceled) {
		t.Errorf("a batch of a context that has ended: error %v", err)
	}
}
