package experiments

import (
	"testing"

	"github.com/griffin-search/griffin/internal/lab"
)

// One query in 14 has too few conjunctive results, and no query occurs twice.
func TestSampleFallsBack(t *testing.T) {
	env := lab.NewEnv(lab.Config{Work: t.TempDir(), Seed: 1, Quick: true})
	t.Cleanup(env.Close)
	s, err := newDing09Sample(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	fewer, seen := 0, map[string]bool{}
	for i, hits := range s.want[0].hits {
		if hits < stagedK {
			fewer++
		}
		if id := s.queries[i].ID; seen[id] {
			t.Errorf("query %s occurs twice", id)
		} else {
			seen[id] = true
		}
	}
	if want := len(s.queries) / ding09FallBack; fewer != want || s.fallBack != want || want == 0 {
		t.Errorf("%d of %d queries fall back, counted as %d, want %d", fewer, len(s.queries), s.fallBack, want)
	}
	if or := s.want[1]; or.hits[0] != stagedK {
		t.Errorf("an OR has %d hits", or.hits[0])
	}
}
