package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

// RankMatches ranks all matches, or some of them, as a search does.
func TestRankMatches(t *testing.T) {
	for _, reordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("reordered=%v", reordered), func(t *testing.T) { testRankMatches(t, reordered) })
	}
}

func testRankMatches(t *testing.T, reordered bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(72, 1))
	s, sc := foundIndex(t, rng, reordered), testScratch(t, "whitespace")
	ranked, refused := 0, 0
	for i := range 300 {
		text := []string{
			"+p7 +w1", "p9 p10", `"p7 p8"`, `p8 "p7 p9" -w3`, "+p8 p2 w1", "+(p8 p9) +w0", "+p7^=1 +w1", "p7 -w0", "+p6 +p7 -p3", "w0 w1", `"w0 w1"~3 p11`,
		}[i%11]
		mode := []Mode{ModeOr, ModeAnd}[rng.IntN(2)]
		all, err := s.Prepare(sc, plantest.Parse(t, text), Options{Mode: mode, K: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		everyHit, err := all.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var among [][]uint64
		left := map[base.DocID]bool{}
		some := rng.IntN(2) == 0
		if err := all.Matches(t.Context(), sc, func(segment int, words []uint64) error {
			words = slices.Clone(words)
			for j := range words {
				if some {
					words[j] &= rng.Uint64()
				}
			}
			for _, d := range appendBits(nil, words, 0) {
				left[s.Snapshot().Segments[segment].Base+base.DocID(d)] = true
			}
			among = append(among, words)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		k := []int{1, 5, 100}[rng.IntN(3)]
		p, err := s.Prepare(sc, plantest.Parse(t, text), Options{Mode: mode, K: k})
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := RankMatches(t.Context(), p, sc, among, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			refused++
			continue
		}
		if len(left) > 0 {
			ranked++
		}
		want := slices.DeleteFunc(everyHit.Hits, func(h base.Hit) bool { return !left[h.DocID] })
		if want = want[:min(k, len(want))]; !slices.Equal(got.Hits, want) {
			t.Fatalf("%s in mode %s, some: %v: hits\n%v\nwant\n%v", text, mode, some, got.Hits, want)
		}
	}
	if ranked < 100 || refused < 20 {
		t.Errorf("%d rankings and %d refusals: want more", ranked, refused)
	}
}
