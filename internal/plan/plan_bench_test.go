package plan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

// BenchmarkQuery measures the fixed cost: planning, dictionary look-ups and the run over very
// few postings.
func BenchmarkQuery(b *testing.B) {
	rng := rand.New(rand.NewPCG(6, 6))
	s := New(indextest.Snapshot(b, plantest.RandomIndex(b, rng, 100, 1, false)), nil)
	sc := testScratch(b, "whitespace")
	dst := make([]base.Hit, 0, 10)
	for _, terms := range []int{1, 3} {
		var q query.Node = &query.Words{Text: "w1 w2 w3"[:3*terms-1], Boost: 1}
		b.Run(fmt.Sprintf("terms=%d/prepared=false", terms), func(b *testing.B) {
			b.ReportAllocs()
			var p Plan
			for b.Loop() {
				if err := s.PrepareInto(&p, sc, q, Options{K: 10}); err != nil {
					b.Fatal(err)
				}
				if _, err := p.RunCPU(context.Background(), sc, dst, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("terms=%d/prepared=true", terms), func(b *testing.B) {
			p, err := s.Prepare(sc, q, Options{K: 10})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.RunCPU(context.Background(), sc, dst, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
