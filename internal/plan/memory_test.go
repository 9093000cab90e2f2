package plan

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

func TestPlanReusesMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 47))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, false)), nil)
	sc := testScratch(t, "whitespace")
	queries := []query.Node{plantest.Parse(t, `w0 w1 w2`), plantest.Parse(t, `w0 "w1 w2" (+w3 w4)`)} // flat, and a tree
	var p Plan
	used := func() [8]int {
		m := &p.memory
		return [...]int{m.leaves.used, m.groups.used, m.nodes.used, m.numbers.used, m.offsets.used, m.bytes.used, m.traversals.used, p.legs.used}
	}
	var first [2][8]int
	for run := range 3 {
		for i, q := range queries {
			if err := s.PrepareInto(&p, sc, q, Options{Mode: ModeAndOr, K: 10}); err != nil {
				t.Fatal(err)
			}
			p.SortTerms()
			if run == 0 {
				first[i] = used()
			} else if now := used(); now != first[i] {
				t.Errorf("%s: plan %d uses %v, the first %v", q, run, now, first[i])
			}
		}
	}
	for i := range first[0] {
		if first[0][i] == 0 && first[1][i] == 0 {
			t.Errorf("used %v: want memory of every kind", first)
		}
	}
}
