package dispatch

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/resultcache"
	"github.com/griffin-search/griffin/query"
)

// BenchmarkResultCache compares cached queries with run ones, both planned each time, by one
// goroutine and by all processors.
func BenchmarkResultCache(b *testing.B) {
	rng := rand.New(rand.NewPCG(4, 4))
	snapshot := indextest.Snapshot(b, plantest.RandomIndex(b, rng, 20_000, 1, false))
	q := &query.Words{Text: "w0 w1 w2", Boost: 1}
	for _, cached := range []bool{false, true} {
		s := NewSearcher(snapshot, nil)
		if cached {
			s.UseResults(resultcache.New(1 << 20))
		}
		ask := func(next func() bool) {
			sc, p, dst := testScratch(b, "whitespace"), new(Query), make([]base.Hit, 0, 10)
			for next() {
				if err := s.PrepareInto(p, sc, q, Options{K: 10, Cached: true}); err != nil {
					b.Error(err)
					return
				}
				if _, err := p.Run(b.Context(), sc, dst); err != nil {
					b.Error(err)
					return
				}
			}
		}
		b.Run(fmt.Sprintf("cached=%t/parallel=false", cached), func(b *testing.B) { ask(b.Loop) })
		b.Run(fmt.Sprintf("cached=%t/parallel=true", cached), func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) { ask(pb.Next) })
		})
	}
}
