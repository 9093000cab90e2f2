package collection

import (
	"math"
	"math/big"
	"testing"

	"github.com/griffin-search/griffin/trec"
)

func TestPostingRoundTrip(t *testing.T) {
	var data []byte
	var gaps []uint32
	var freqs []uint8
	for _, gap := range []uint32{0, 1, gapEscape - 1, gapEscape, gapEscape + 1, 1000, chunkDocs - 1} {
		for _, freq := range []uint8{1, 2, 255} {
			gaps, freqs = append(gaps, gap), append(freqs, freq)
			data = appendPosting(data, gap, freq)
		}
	}
	for i := range gaps {
		gap, freq, size := readPosting(data)
		if gap != gaps[i] || freq != freqs[i] {
			t.Fatalf("posting %d: gap %d freq %d, want %d and %d", i, gap, freq, gaps[i], freqs[i])
		}
		data = data[size:]
	}
	if len(data) != 0 {
		t.Errorf("%d bytes left", len(data))
	}
}

func TestSpansHaveTheirMean(t *testing.T) {
	for _, mean := range []float64{1, 1.5, 2, 4, 9.5, 16} {
		got := 0.0
		for _, n := range newSpans(mean) {
			got += float64(n) / 256
		}
		if math.Abs(got-mean) > 0.03*mean {
			t.Errorf("mean %g of spans that should have %g", got, mean)
		}
	}
}

// Reflected quantiles stay in bounds, and their mean moves with the shift.
func TestQuantile(t *testing.T) {
	for _, shift := range []int16{-255, -100, 0, 100, 255} {
		sum := 0
		const draws = 4000
		for g := range uint64(draws) {
			rng := newStream(1, streamDocument, g)
			q := quantile(&rng, []int16{shift}, 0)
			if q < 0 || q > 255 {
				t.Fatalf("shift %d: quantile %d", shift, q)
			}
			sum += q
		}
		mean := float64(sum) / draws
		if shift == 100 && mean < 145 || shift == -100 && mean > 110 || shift == 0 && math.Abs(mean-127.5) > 5 {
			t.Errorf("shift %d: mean quantile %g", shift, mean)
		}
	}
}

// linearityOracle computes with exact fractions, and finds the deviations by the
// definition.
func linearityOracle(docIDs []uint32) Linear {
	n := int64(len(docIDs))
	rat := func(v int64) *big.Rat { return new(big.Rat).SetInt64(v) }
	add := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }
	sub := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
	mul := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
	quo := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }
	sx, sy, sxx, sxy, syy := rat(0), rat(0), rat(0), rat(0), rat(0)
	for i, d := range docIDs {
		x, y := rat(int64(i+1)), rat(int64(d))
		sx, sy = add(sx, x), add(sy, y)
		sxx, sxy, syy = add(sxx, mul(x, x)), add(sxy, mul(x, y)), add(syy, mul(y, y))
	}
	xx := sub(mul(rat(n), sxx), mul(sx, sx))
	xy := sub(mul(rat(n), sxy), mul(sx, sy))
	yy := sub(mul(rat(n), syy), mul(sy, sy))
	alpha := quo(xy, xx)
	beta := quo(sub(sy, mul(alpha, sx)), rat(n))
	left, right := rat(-1<<40), rat(-1<<40)
	for i, d := range docIDs {
		at := quo(sub(rat(int64(d)), beta), alpha)
		if v := sub(at, rat(int64(i+1))); v.Cmp(left) > 0 {
			left = v
		}
		if v := sub(rat(int64(i+1)), at); v.Cmp(right) > 0 {
			right = v
		}
	}
	ratio, _ := quo(add(left, right), rat(n)).Float64()
	r2, _ := quo(mul(xy, xy), mul(xx, yy)).Float64()
	return Linear{ratio, r2}
}

func TestLinearity(t *testing.T) {
	for _, docIDs := range [][]uint32{
		{4, 9}, {1, 2, 3, 4}, {0, 10, 11, 12, 400}, {5, 6, 7, 4_000_000_000, 4_000_000_001},
	} {
		got, want := Linearity(docIDs), linearityOracle(docIDs)
		if math.Abs(got.Ratio-want.Ratio) > 1e-9 || math.Abs(got.R2-want.R2) > 1e-9 {
			t.Errorf("%v: %+v, want %+v", docIDs, got, want)
		}
	}
	rng := newStream(1, 1, 1)
	var docIDs []uint32
	for d := uint32(0); len(docIDs) < 300; d += 1 + uint32(rng.below(20)) {
		docIDs = append(docIDs, d)
	}
	if got, want := Linearity(docIDs), linearityOracle(docIDs); math.Abs(got.Ratio-want.Ratio) > 1e-9 || math.Abs(got.R2-want.R2) > 1e-9 {
		t.Errorf("random: %+v, want %+v", got, want)
	}
}

func TestWithShares(t *testing.T) {
	var candidates []candidate
	for i := range 900 {
		candidates = append(candidates, candidate{topic: trec.Topic{}, terms: make([]string, 1+i%3), at: i})
	}
	count := map[int]int{}
	for _, c := range withShares(candidates, 200, map[int]float64{2: 0.5, 3: 0.3}) {
		count[len(c.terms)]++
	}
	if count[1] != 40 || count[2] != 100 || count[3] != 60 {
		t.Errorf("200 with shares of 0.5 and 0.3: %v", count)
	}
	// There are 300 of two terms: no more than 600 in all.
	if got := len(withShares(candidates, 900, map[int]float64{2: 0.5})); got != 600 {
		t.Errorf("%d queries, want 600", got)
	}
}
