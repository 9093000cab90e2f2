package traverse

import (
	"math"
	"testing"

	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/score"
)

// TestSaturationKey checks that each parameter of bounds changes the key.
func TestSaturationKey(t *testing.T) {
	key := func(term score.Term) uint64 { return (&Leg{Leg: leg.Leg{Term: term}}).saturationKey() }
	seen := map[uint64]score.Term{}
	for _, term := range []score.Term{{C0: 1, C1: 2}, {C0: 1, C1: 3}, {C0: 2, C1: 2}, {}, {Linear: true}} {
		k := key(term)
		if other, ok := seen[k]; ok {
			t.Errorf("%+v and %+v have the same key", term, other)
		}
		seen[k] = term
	}
	if a, b := key(score.Term{Weight: 1, C0: 1}), key(score.Term{Weight: 2, C0: 1}); a != b {
		t.Errorf("the key depends on the weight: %x and %x", a, b)
	}
	if k := key(score.Term{Linear: true}); k != math.MaxUint64 {
		t.Errorf("a linear term has key %x", k)
	}
}

func TestUpperOfNothing(t *testing.T) {
	term := score.NewLinearTerm(1, 1000)
	l := &legState{Leg: &Leg{Leg: leg.Leg{Term: term, Scale: score.NewScale(term, 0, 0)}, MaxScore: 1 << 20}}
	if got := l.upper(0); got != 0 {
		t.Errorf("no postings: bound %d, want 0", got)
	}
	if got := l.upper(1); got == 0 || got < term.Score(1, 0) {
		t.Errorf("bound of frequency 1 is %d, its contribution %d", got, term.Score(1, 0))
	}
}
