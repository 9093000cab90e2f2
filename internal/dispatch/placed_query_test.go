package dispatch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

// The queries have boosts, words twice, words without documents, words of fields, and required
// parts, in every mode.
func TestAnyPlacementOfAnyQuery(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 1))
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 4, true)), g, Config{})
	d.policy = &anyPolicy{anyPlacement(rng)}
	migrations := 0
	for i := range 36 {
		parts := make([]string, 1+rng.IntN(5))
		for j := range parts {
			parts[j] = []string{"w%d", "w%d", "+w%d", "w%d^2.5", "title:w%d", "unknown%d", "-w%d"}[rng.IntN(7)]
			parts[j] = fmt.Sprintf(parts[j], rng.IntN(8))
		}
		if i%3 == 0 { // the other queries are no conjunctions of words
			for j := range parts {
				parts[j] = fmt.Sprintf("+w%d^%d", rng.IntN(4), 1+rng.IntN(3))
			}
		}
		o := Options{Mode: []plan.Mode{plan.ModeAnd, plan.ModeAndOr, plan.ModeOr}[i%3], K: []int{1, 7, 1000}[rng.IntN(3)], Count: rng.IntN(2) == 0}
		migrations += p.check(t, plantest.Parse(t, strings.Join(parts, " ")), o).Migrations
	}
	if migrations == 0 {
		t.Error("nothing migrated")
	}
}

// Of more equal documents than are wanted, the ones with the least DocIDs are found, wherever
// the lists are.
func TestAnyPlacementOfTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 1))
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 9000, 1, 2, 3, 4)), g, Config{})
	d.policy = &anyPolicy{anyPlacement(rng)}
	for _, k := range []int{1, 128, 1000} {
		for _, text := range []string{"e1 e2", "e2 e3 e4", "e4 e3 e2 e1", "e1"} {
			for _, mode := range []plan.Mode{plan.ModeAnd, plan.ModeAndOr} {
				p.check(t, plantest.Parse(t, text), Options{Mode: mode, K: k, Count: k%2 == 0})
			}
		}
	}
}

// Contributions of weights are linear, and their sums large.
func TestAnyPlacementOfWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 1))
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, indextest.Snapshot(t, weightedIndex(t, rng, 100)), g, Config{})
	d.policy = &anyPolicy{anyPlacement(rng)}
	for i := range 24 {
		q := &query.Weights{}
		most := []float64{20, 300}[i%2] // with 300, scores pass 2^32
		for _, term := range rng.Perm(40)[:2+rng.IntN(4)] {
			q.Terms = append(q.Terms, query.TermWeight{Term: fmt.Sprint("t", term), Weight: 0.01 + rng.Float64()*most})
		}
		p.check(t, q, Options{Mode: []plan.Mode{plan.ModeAnd, plan.ModeAndOr, plan.ModeOr}[rng.IntN(3)], K: []int{1, 10, 1000}[rng.IntN(3)], Count: rng.IntN(2) == 0})
	}
}
