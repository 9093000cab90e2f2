package snippet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestWindowScore(t *testing.T) {
	m := New(newAnalyzer(t, "simple"), Query{Terms: []Term{{"a", 2}, {"b", 1}}}, Options{})
	m.scan("a b x a")
	got := m.bestWindows()
	if want := 2*1.1 + 1 + 0.25 + 0.25/2; len(got) != 1 || math.Abs(got[0].score-want) > 1e-12 {
		t.Errorf("windows %v, want one of score %v", got, want)
	}
}

func scoreWindow(m *Maker, first, last int, weights []float64) float64 {
	counts := map[int]int{}
	score := 0.0
	for i := first; i <= last; i++ {
		counts[m.matches[i].term]++
		if i > first {
			score += m.links[i]
		}
	}
	for term, n := range counts {
		score += weights[term] * (1 + repeatGain*math.Min(float64(n-1), maxRepeats))
	}
	return score
}

func TestBestWindowMatchesOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var b strings.Builder
		for range rng.IntN(120) {
			if rng.IntN(3) == 0 {
				fmt.Fprintf(&b, "t%d ", rng.IntN(5))
			} else {
				b.WriteString(strings.Repeat("x", 1+rng.IntN(8)) + " ")
			}
		}
		q := Query{Phrases: [][]string{{"t0", "t1"}, {"t2", "t2", "t3"}}}
		for i := range 5 {
			q.Terms = append(q.Terms, Term{fmt.Sprintf("t%d", i), 0.5 + rng.Float64()})
		}
		m := New(newAnalyzer(t, "simple"), q, Options{MaxChars: 1 + rng.IntN(80)})
		m.scan(b.String())
		if len(m.matches) == 0 {
			continue
		}
		m.findLinks()
		all := window{last: len(m.matches) - 1}
		got := m.bestWindow(all, m.weights)
		want := window{score: math.Inf(-1)}
		for first := range m.matches {
			for last := first; last < len(m.matches) && (last == first || m.fits(first, last)); last++ {
				if score := scoreWindow(m, first, last, m.weights); score > want.score+scoreSlack {
					want = window{first, last, score}
				}
			}
		}
		// Repeats beyond maxRepeats add nothing, so got may have more.
		if got.first != want.first || got.last < want.last || math.Abs(got.score-want.score) > 1e-9 {
			t.Fatalf("%q: best window %v, want %v", b.String(), got, want)
		}
		if slices.ContainsFunc(m.counts, func(n int) bool { return n != 0 }) {
			t.Fatalf("counts %v after the scan, want zeros", m.counts)
		}
	}
}

func BenchmarkMake(b *testing.B) {
	for _, bc := range []struct{ name, text string }{
		{"text=passage", whale},
		{"text=4MiB", strings.Repeat(whale, 4<<20/len(whale))},
		{"text=4MiB-one-term-absent", strings.Repeat(strings.ReplaceAll(whale, "Ishmael", "Ahab"), 4<<20/len(whale))},
	} {
		b.Run(bc.name, func(b *testing.B) {
			m := New(newAnalyzer(b, "english"), terms("ishmael", "sea", "soul"), Options{})
			b.ReportAllocs()
			for b.Loop() {
				m.Make(bc.text)
			}
		})
	}
}
