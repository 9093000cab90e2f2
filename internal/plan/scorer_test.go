package plan

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

// A Scorer gives each document the score that it has as a hit, also with parts of constant score.
func TestScorer(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 1))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 3, false)), nil)
	for _, text := range []string{
		"w0", "w0 w1 w2", "w1 w*^3", "(w1 w2)^=2 w3", "(w0 OR w4)^=0 w2", "w?^=1.5 OR w2", "*:*", "*:*^2 w1", "+w1 +[w2 TO w4] w3", "w1 -w2^=3", "/w[0-3]/ w5~1",
	} {
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			sc, other := testScratch(t, "whitespace"), testScratch(t, "whitespace")
			p, err := s.Prepare(sc, plantest.Parse(t, text), Options{Mode: mode, K: 1000})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			answer, err := p.RunCPU(t.Context(), sc, nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			want := map[base.DocID]base.Score{}
			for _, h := range answer.Hits {
				want[h.DocID] = h.Score
			}
			scorer, err := NewScorer(t.Context(), p, other)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			scored := 0
			for i := range s.snapshot.Segments {
				view := &s.snapshot.Segments[i]
				if err := scorer.Begin(i); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				for doc := range base.DocID(view.NumDocs()) {
					score, hit := want[view.Base+doc]
					if !hit {
						continue
					}
					scored++
					if got, err := scorer.Score(doc); err != nil || got != score {
						t.Fatalf("%s, %v: document %d has score %v, %v, want %v", text, mode, doc, got, err, score)
					}
				}
			}
			if err := scorer.Close(); err != nil || scored != len(want) {
				t.Errorf("%s: %d documents of %d, %v", text, scored, len(want), err)
			}
		}
	}
}
