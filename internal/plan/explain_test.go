package plan

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

// The earlier run leaves a pulse that reports an ended context.
func TestExplainAfterCancelledRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 48))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 200, 1, false)), nil)
	sc := testScratch(t, "whitespace")
	p, err := s.Prepare(sc, plantest.Parse(t, "+w0 (+w1 w2)"), Options{Mode: ModeOr, K: 5})
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.RunCPU(t.Context(), sc, nil, nil)
	if err != nil || len(a.Hits) == 0 {
		t.Fatalf("%d hits, %v", len(a.Hits), err)
	}
	sc.pulse.err = context.Canceled // as after a run that was cancelled in its middle
	e, err := p.Explain(t.Context(), sc, 0, a.Hits[0].DocID)
	if err != nil || e.Score != a.Hits[0].Score.Float64() {
		t.Errorf("explained as %v, %v, want %v", e.Score, err, a.Hits[0].Score)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	sc.begin(&p.words, 0, ended)
	for !sc.pulse.stopped() { // until the context is looked at
	}
	if !errors.Is(sc.pulse.err, context.Canceled) {
		t.Errorf("a pulse of an ended context: %v", sc.pulse.err)
	}
}
