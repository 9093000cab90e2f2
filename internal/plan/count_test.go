package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

// Matches is the same for every k, in every mode, for trees and flat queries.
func TestCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	ix := plantest.RandomIndex(t, rng, 300, 3, true)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	s := New(indextest.Snapshot(t, ix), nil)
	sc := testScratch(t, "whitespace")
	flat := 0
	for i := range 300 {
		mode := Mode(rng.IntN(4))
		var q query.Node = &query.Words{Text: plantest.RandomWords(rng, 1+rng.IntN(4)), Boost: 1}
		if mode != ModeSaat && i%2 == 0 {
			q = plantest.RandomNode(rng, 3)
		}
		all := answer(t, s, sc, q, Options{Mode: mode, K: 1000})
		for _, k := range []int{1, 10, 1000} {
			a := answer(t, s, sc, q, Options{Mode: mode, K: k, Count: true})
			want := int64(len(all.Hits))
			if a.Mode != all.Mode { // ModeAndOr falls back for 1000
				want = int64(len(answer(t, s, sc, q, Options{Mode: a.Mode, K: 1000}).Hits))
			}
			if a.Matches != want {
				t.Fatalf("%s in mode %s, k=%d: %d documents match, want %d", q, mode, k, a.Matches, want)
			}
			p, err := s.Prepare(sc, q, Options{Mode: mode, K: k})
			if err != nil {
				t.Fatal(err)
			}
			if n, err := CountMatches(t.Context(), p, sc); err != nil || n != want {
				t.Fatalf("%s in mode %s, k=%d: %d documents are counted, %v, want %d", q, mode, k, n, err, want)
			}
			if p, err = s.Prepare(sc, q, Options{Mode: mode, K: k, MatchesOnly: true}); err != nil {
				t.Fatal(err)
			}
			if n, err := CountMatches(t.Context(), p, sc); err != nil || n != want {
				t.Fatalf("%s in mode %s, k=%d: %d documents are counted without a plan for hits, %v, want %d", q, mode, k, n, err, want)
			}
		}
		if all.Traversal != treeTraversal {
			flat++
		}
	}
	if flat < 100 || flat > 280 {
		t.Errorf("%d of 300 queries were flat: want some of both", flat)
	}
	if a := answer(t, s, sc, plantest.Parse(t, "w1"), Options{K: 10}); a.Matches != 0 {
		t.Errorf("%d matches were counted without Options.Count", a.Matches)
	}
}

// The count of a union is the number of its marked documents, with deleted documents and terms of all frequencies.
func TestCountUnions(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	s, sc := foundIndex(t, rng, false), testScratch(t, "whitespace")
	tested, lookedUp := 0, 0
	for range 400 {
		var parts []string
		for range 1 + rng.IntN(5) {
			switch rng.IntN(8) {
			case 0:
				p := rng.IntN(5)
				parts = append(parts, fmt.Sprintf(`"p%d p%d"`, p, p+1))
			case 1:
				parts = append(parts, plantest.RandomWord(rng))
			case 2:
				parts = append(parts, "nowhere")
			default:
				parts = append(parts, fmt.Sprintf("p%d", rng.IntN(12)))
			}
		}
		if rng.IntN(8) == 0 {
			parts[0] = "+" + parts[0]
		}
		text := strings.Join(parts, " ")
		for _, only := range []bool{false, true} {
			p := prepare(t, s, sc, text, Options{K: 10, MatchesOnly: only})
			want := int64(0)
			err := p.Matches(t.Context(), sc, func(_ int, words []uint64) error {
				want += ones(words)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if n, err := CountMatches(t.Context(), p, sc); err != nil || n != want {
				t.Fatalf("%s: %d documents are counted, %v, want %d", text, n, err, want)
			}
			if work := sc.counted; work.PostingsDecoded > 0 && len(parts) == 2 {
				all := int64(0)
				for i := range s.Snapshot().Segments {
					for j := range p.words.terms {
						all += int64(p.words.list(i, j).DocFreq)
					}
				}
				if work.PostingsDecoded < all {
					lookedUp++
				} else {
					tested++
				}
			}
		}
	}
	if tested < 10 || lookedUp < 10 {
		t.Errorf("the longest lists of %d unions were read, of %d parts", tested, lookedUp)
	}
}
