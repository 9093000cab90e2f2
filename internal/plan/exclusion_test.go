package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/query"
)

// An excluded node can be a group that itself excludes documents of a bitmap. Its iterator may be ahead
// of the candidates.
func TestNestedExclusions(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 300))
			snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 200, 3, true))
			bm25 := score.DefaultBM25
			o, s, sc := newOracle(t, snapshot, bm25), New(snapshot, &bm25), testScratch(t, "whitespace")
			word := func() query.Node { return &query.Term{Text: plantest.RandomWord(rng), Boost: 1} }
			for range 10 {
				inner := query.Exclude(&query.Exists{Field: "title", Boost: 2}, word(), word())
				checkQuery(t, o, s, sc, &query.Boolean{Boost: 1, Clauses: []query.Clause{{Occur: query.MustNot, Node: inner}, {Node: word()}, {Node: word()}}})
				inner = query.Exclude(&query.Exists{Field: "title", Boost: 0.5}, word())
				checkQuery(t, o, s, sc, &query.Boolean{Boost: 1, Clauses: []query.Clause{{Occur: query.Must, Node: word()}, {Occur: query.Should, Node: inner}}})
			}
		})
	}
}
