package exec

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/query"
)

// Any placement of any form of a conjunction gives the CPU's answer: with boosts, words
// twice, words that no document has, words of fields, and, by required parts, in every mode.
func TestAnyPlacementOfAnyQuery(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 1))
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, testSnapshot(t, randomIndex(t, rng, 600, 4, true)), g, DispatchOptions{})
	d.choose = anyPlacement(rng)
	migrations := 0
	for i := range 36 {
		parts := make([]string, 1+rng.IntN(5))
		for j := range parts {
			parts[j] = []string{"w%d", "w%d", "+w%d", "w%d^2.5", "title:w%d", "unknown%d", "-w%d"}[rng.IntN(7)]
			parts[j] = fmt.Sprintf(parts[j], rng.IntN(8))
		}
		if i%3 == 0 { // what is no conjunction of words the rest has
			for j := range parts {
				parts[j] = fmt.Sprintf("+w%d^%d", rng.IntN(4), 1+rng.IntN(3))
			}
		}
		o := Options{Mode: []Mode{ModeAnd, ModeAndOr, ModeOr}[i%3], K: []int{1, 7, 1000}[rng.IntN(3)], Count: rng.IntN(2) == 0}
		migrations += p.check(t, parse(t, strings.Join(parts, " ")), o).Migrations
	}
	if migrations == 0 {
		t.Error("nothing migrated")
	}
}

// Of documents that are the same, of which there are more than are wanted, those with the
// least DocIDs are found, wherever the lists are.
func TestAnyPlacementOfTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 1))
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, testSnapshot(t, spacedIndex(t, 9000, 1, 2, 3, 4)), g, DispatchOptions{})
	d.choose = anyPlacement(rng)
	for _, k := range []int{1, 128, 1000} {
		for _, text := range []string{"e1 e2", "e2 e3 e4", "e4 e3 e2 e1", "e1"} {
			for _, mode := range []Mode{ModeAnd, ModeAndOr} {
				p.check(t, parse(t, text), Options{Mode: mode, K: k, Count: k%2 == 0})
			}
		}
	}
}

// Weights are not counts: their contributions are linear, and their sums large.
func TestAnyPlacementOfWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 1))
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, testSnapshot(t, weightedIndex(t, rng, 100)), g, DispatchOptions{})
	d.choose = anyPlacement(rng)
	for range 12 {
		q := &query.Weights{}
		for _, term := range rng.Perm(40)[:2+rng.IntN(4)] {
			q.Terms = append(q.Terms, corpus.TermWeight{Term: fmt.Sprint("t", term), Weight: 0.01 + rng.Float64()*20})
		}
		p.check(t, q, Options{Mode: []Mode{ModeAnd, ModeAndOr, ModeOr}[rng.IntN(3)], K: []int{1, 10, 1000}[rng.IntN(3)], Count: rng.IntN(2) == 0})
	}
}
