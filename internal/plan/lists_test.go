package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

// The lists of a segment are the lists of its step in a trace.
func TestSegmentLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 43))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, true))
	s, sc := New(snapshot, nil), testScratch(t, "whitespace")
	for range 40 {
		p, err := s.Prepare(sc, plantest.RandomNode(rng, 1), Options{Mode: ModeOr, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		var trace Trace
		if _, err := p.RunCPU(t.Context(), sc, nil, &trace); err != nil {
			t.Fatal(err)
		}
		for i := range trace.Steps {
			lists, want := SegmentLists(p, 0, i), trace.Steps[i].Lists
			if !p.Stage(0).IsFlat() {
				want = nil
			}
			if p.Stage(0).Excludes() { // the lists of excluded words follow
				want = want[:len(lists)]
			}
			if !slices.Equal(lists, want) {
				t.Errorf("%s: lists %+v, want %+v", p.Query(), lists, want)
			}
		}
	}
}
