package score_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

func TestIDFWorkedNumber(t *testing.T) {
	for _, tt := range []struct {
		numDocs, docFreq uint64
		want             float64
	}{
		{1000, 10, 4.5574},
		{1000, 1000, 0.0005},
		{1, 1, 0.2877},
		{0, 0, 0.6931},
	} {
		if got := score.IDF(tt.numDocs, tt.docFreq); math.Abs(got-tt.want) > 0.00005 {
			t.Errorf("IDF(%d, %d) = %.4f, want %.4f", tt.numDocs, tt.docFreq, got, tt.want)
		}
	}
}

func TestScoreWorkedNumber(t *testing.T) {
	term := score.DefaultBM25.NewTerm(score.IDF(1000, 10), 1, 100)
	if got := term.Score(3, 120); got != 225583 {
		t.Errorf("Score(3, 120) = %d (%v), want 225583", got, got)
	}
}

func bm25(p score.BM25, idf, boost, avgLen float64, freq, length uint32) float64 {
	k1, b, f := float64(p.K1), float64(p.B), float64(freq)
	return idf * boost * f / (f + k1*(1-b+b*float64(length)/avgLen))
}

// With edge cases.
func randomBM25(rng *rand.Rand) score.BM25 {
	p := score.BM25{K1: rng.Float32() * 3, B: rng.Float32()}
	switch rng.IntN(8) {
	case 0:
		p.K1 = 0
	case 1:
		p.B = 0
	case 2:
		p.B = 1
	case 3:
		p = score.DefaultBM25
	}
	return p
}

func randomPosting(rng *rand.Rand) (freq, length uint32) {
	return 1 + rng.Uint32()>>(1+rng.IntN(31)), rng.Uint32() >> rng.IntN(32)
}

func TestScoreErrsLittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	worst := 0.0
	for range 200000 {
		p := randomBM25(rng)
		idf, avgLen := rng.Float64()*22.2, math.Exp(rng.Float64()*12)
		freq, length := randomPosting(rng)
		got := p.NewTerm(idf, 1, avgLen).Score(freq, length).Float64()
		worst = max(worst, math.Abs(got-bm25(p, idf, 1, avgLen, freq, length)))
	}
	if worst >= 1e-4 {
		t.Errorf("largest error %g, want below 1e-4", worst)
	}
}

func TestScoreStaysBelow2To32(t *testing.T) {
	const maxIDF, maxBoost = 22.2, 1000
	p := score.BM25{K1: 0, B: 0}
	if got, want := p.NewTerm(maxIDF, maxBoost, 1).Score(math.MaxUint32, 0), base.Score(maxIDF*maxBoost*(1<<base.ScoreFractionBits)); got < want-256 || got > want+256 {
		t.Errorf("got %d, want about %d", got, want)
	}
}

func TestScaleBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 500000 {
		p := randomBM25(rng)
		then := math.Exp(rng.Float64() * 10)
		now := then * math.Exp(4*rng.Float64()-2)
		if rng.IntN(3) == 0 {
			now = then
		}
		term := p.NewTerm(rng.Float64()*22.2, math.Exp(7*rng.Float64()-1), now)
		scale := score.NewScale(term, then, now)
		sat := score.Saturation{BM25: p, AvgLen: then}
		freq, length := randomPosting(rng)
		if s, own := term.Score(freq, length), score.NewScale(term, 0, 0).Upper(term.Bound(freq, length)); s > own {
			t.Fatalf("%+v now %g: Score(%d, %d) = %d exceeds its own bound %d", p, now, freq, length, s, own)
		}
		lower, upper := sat.Bounds(freq, length)
		if upper != sat.Upper(freq, length) || upper < lower || upper-lower > 1 {
			t.Fatalf("Bounds(%d, %d) = %d, %d; Upper %d", freq, length, lower, upper, sat.Upper(freq, length))
		}
		got := term.Score(freq, length)
		if limit := scale.Upper(upper); got > limit {
			t.Fatalf("%+v then %g now %g: Score(%d, %d) = %d exceeds Upper(%d) = %d", p, then, now, freq, length, got, upper, limit)
		}
		if limit := scale.Lower(lower); got < limit {
			t.Fatalf("%+v then %g now %g: Score(%d, %d) = %d does not reach Lower(%d) = %d", p, then, now, freq, length, got, lower, limit)
		}
	}
}

// A field that only deleted documents have has no mean length of live documents: scores are as for 1.
func TestScaleWithoutMeanLength(t *testing.T) {
	for _, then := range []float64{0.1, 1.0 / 3, 1, 20} {
		for _, now := range []float64{0, math.NaN(), -1} {
			term := score.DefaultBM25.NewTerm(5, 1, now)
			scale, sat := score.NewScale(term, then, now), score.Saturation{BM25: score.DefaultBM25, AvgLen: then}
			for length := uint32(1); length < 50; length++ {
				lower, upper := sat.Bounds(1, length)
				if s := term.Score(1, length); s > scale.Upper(upper) || s < scale.Lower(lower) {
					t.Errorf("then %g now %g: %d of length %d is not in [%d, %d]", then, now, s, length, scale.Lower(lower), scale.Upper(upper))
				}
			}
		}
	}
}

// With the same mean length, a bound exceeds the score by at most its resolution.
func TestScaleIsTight(t *testing.T) {
	term := score.DefaultBM25.NewTerm(5, 1, 100)
	scale := score.NewScale(term, 100, 100)
	sat := score.Saturation{BM25: score.DefaultBM25, AvgLen: 100}
	for freq := uint32(1); freq < 50; freq++ {
		for length := freq; length < 500; length++ {
			s := term.Score(freq, length)
			lower, upper := sat.Bounds(freq, length)
			if slack := scale.Upper(upper) - s; slack > 8 {
				t.Fatalf("Upper(%d, %d) is %d above the score %d", freq, length, slack, s)
			}
			if slack := s - scale.Lower(lower); slack > 8 {
				t.Fatalf("Lower(%d, %d) is %d below the score %d", freq, length, slack, s)
			}
		}
	}
}

func FuzzScale(f *testing.F) {
	f.Add(float32(0.9), float32(0.4), 5.0, 100.0, 120.0, uint32(3), uint32(90))
	f.Add(float32(0), float32(1), 0.0, 0.0, 1e9, uint32(1), uint32(0))
	f.Fuzz(func(t *testing.T, k1, b float32, weight, then, now float64, freq, length uint32) {
		if !(k1 >= 0 && k1 <= 1000 && b >= 0 && b <= 1 && weight >= 0 && weight <= 22200 && freq > 0) {
			t.Skip()
		}
		if !(then > 1e-3 && then < 1e12 && now > 1e-3 && now < 1e12) {
			t.Skip()
		}
		p := score.BM25{K1: k1, B: b}
		term := p.NewTerm(weight, 1, now)
		scale := score.NewScale(term, then, now)
		lower, upper := score.Saturation{BM25: p, AvgLen: then}.Bounds(freq, length)
		if s := term.Score(freq, length); s > scale.Upper(upper) || s < scale.Lower(lower) {
			t.Fatalf("%d is not in [%d, %d]", s, scale.Lower(lower), scale.Upper(upper))
		}
	})
}

func BenchmarkScore(b *testing.B) {
	term := score.DefaultBM25.NewTerm(5, 1, 100)
	var sum base.Score
	freq := uint32(1)
	for b.Loop() {
		sum += term.Score(freq&7+1, freq&255)
		freq++
	}
	_ = sum
}

// Without BM25.
func TestLinearTerm(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 100000 {
		scale := []float64{1, 100, 1000, 7.5}[rng.IntN(4)]
		freq := 1 + rng.Uint32N(uint32(score.MaxBound))
		weight := rng.Float64() * 65535 * scale / float64(freq)
		term := score.NewLinearTerm(weight, scale)
		got := term.Score(freq, rng.Uint32())
		if want := weight * float64(freq) / scale; math.Abs(got.Float64()-want) > want*1e-6+1e-5 {
			t.Fatalf("Score(%d) with weight %g at scale %g = %v, want %g", freq, weight, scale, got, want)
		}
		sat, bounds := score.Saturation{Linear: true}, score.NewScale(term, 0, 0)
		lower, upper := sat.Bounds(freq, 0)
		if got > bounds.Upper(upper) || got < bounds.Lower(lower) {
			t.Fatalf("Score(%d) = %d is not in [%d, %d]", freq, got, bounds.Lower(lower), bounds.Upper(upper))
		}
	}
	if got := score.NewLinearTerm(200, 1).Score(255, 9); got != 200*255<<16 {
		t.Errorf("200 times 255 = %v", got)
	}
}
