package traverse

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// No posting below leastFreq contributes enough, and leastFreq is not lower than it could be.
func TestLeastFreq(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dropped := 0
	for range 20_000 {
		term := score.BM25{K1: rng.Float32() * 3, B: rng.Float32()}.NewTerm(rng.ExpFloat64()*5, 1, 1+rng.ExpFloat64()*200)
		if rng.IntN(4) == 0 {
			term = score.NewLinearTerm(rng.ExpFloat64(), 100)
		}
		of := uint32(1 + rng.IntN(12))
		least := term.Score(of, uint32(rng.ExpFloat64()*100)) + base.Score(rng.IntN(2))
		f := leastFreq(&term, least)
		if f < 1 || f > maxLeastFreq {
			t.Fatalf("%+v, least %d: frequency %d", term, least, f)
		}
		for low := range f - 1 {
			for _, length := range []uint32{0, 1, uint32(rng.IntN(1000)), 1<<32 - 1} {
				if s := term.Score(1+low, length); s >= least {
					t.Fatalf("%+v, least %d: frequency %d in %d tokens has %d, but the lowest is %d", term, least, 1+low, length, s, f)
				}
			}
			dropped++
		}
		if f < maxLeastFreq && term.Score(f, 0) < least {
			t.Fatalf("%+v, least %d: frequency %d is too low", term, least, f)
		}
	}
	if dropped == 0 {
		t.Error("no frequency was dropped")
	}
}
