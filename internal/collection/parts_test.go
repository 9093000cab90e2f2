package collection

import (
	"math"
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

// Reflected quantiles stay in bounds; the mean moves with the shift.
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

// A scan over all documents must find one with all of a query's terms.
func TestTogether(t *testing.T) {
	source, log := testSource(t)
	candidates, err := answerable(source, log, false)
	if err != nil {
		t.Fatal(err)
	}
	met := 0
	for _, c := range candidates {
		counts := map[uint64]int{}
		for _, term := range c.terms {
			for _, posting := range readList(t, source, term) {
				counts[posting>>32]++
			}
		}
		want := false
		for _, n := range counts {
			want = want || n == len(c.terms)
		}
		got, err := together(source, c.terms)
		if err != nil || got != want {
			t.Fatalf("query %q: %v, %v, want %v", c.terms, got, err, want)
		}
		if got {
			met++
		}
	}
	inOne, err := answerable(source, log, true)
	if err != nil || len(inOne) != met || met == 0 || met == len(candidates) {
		t.Errorf("%d of %d queries, %d met, %v", len(inOne), len(candidates), met, err)
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
	// There are 300 of two terms, so at most 600 in total.
	if got := len(withShares(candidates, 900, map[int]float64{2: 0.5})); got != 600 {
		t.Errorf("%d queries, want 600", got)
	}
}
