package traverse_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
)

// With k of a list's own Kth, lists with small bounds are excluded. With deletions, no
// threshold is known.
func TestEssential(t *testing.T) {
	rng := rand.New(rand.NewPCG(88, 1))
	fewer := 0
	for range 60 {
		x := withLegs(t, rng, 3)
		for _, q := range x.queries(t) {
			all := int64(0)
			for i := range q.Legs {
				all += int64(q.Legs[i].List.DocFreq)
			}
			got := traverse.Essential(q.Legs, 10, nil)
			if got < 0 || got > all {
				t.Fatalf("%s: %d of %d postings are essential", x.name, got, all)
			}
			if got < all {
				fewer++
			}
			// More legs are counted by another algorithm.
			many := slices.Clone(q.Legs)
			for range 64 {
				many = append(many, traverse.Leg{Leg: leg.Leg{List: &postings.List{}}})
			}
			if want := traverse.Essential(many, 10, nil); got != want {
				t.Fatalf("%s: %d postings are essential, beside empty lists %d", x.name, got, want)
			}
			if at := traverse.EssentialAt(q.Legs, 10, nil, 1.2); at > got || at < 0 {
				t.Fatalf("%s: %d postings are essential, at a higher threshold %d", x.name, got, at)
			}
			if at := traverse.EssentialAt(q.Legs, 10, nil, 0); at != all {
				t.Fatalf("%s: %d of %d postings are essential without a threshold", x.name, at, all)
			}
			if got := traverse.Essential(q.Legs, 10, make([]uint64, 1)); got != all {
				t.Fatalf("%s: %d of %d postings are essential though documents are deleted", x.name, got, all)
			}
			if n := testing.AllocsPerRun(4, func() { traverse.Essential(q.Legs, 10, nil) }); n != 0 {
				t.Fatalf("%v allocations", n)
			}
		}
	}
	if fewer == 0 {
		t.Error("no query had a list that is not essential")
	}
}

// TestEssentialLimits has lists of 1, 2, 4, 8 and 16 postings, so that the result identifies the
// essential ones. The k-th best contribution of one list is the threshold.
func TestEssentialLimits(t *testing.T) {
	term := score.NewLinearTerm(1, 1000)
	scale := score.NewScale(term, 0, 0)
	const bound = 4000
	threshold := scale.Lower(bound)
	legs := func(maxScores ...base.Score) []traverse.Leg {
		legs := make([]traverse.Leg, len(maxScores))
		for i, m := range maxScores {
			list := &postings.List{Meta: postings.Meta{DocFreq: 1 << i}}
			if i == 0 {
				list.Kth = [3]score.Bound{bound, 0, 0}
			}
			legs[i] = traverse.Leg{Leg: leg.Leg{List: list, Term: term, Scale: scale}, MaxScore: m}
		}
		return legs
	}
	top := threshold + 7 // of the first list
	replaced := legs(top, 1)
	replaced[0].Bounds = []score.Bound{bound}
	half := threshold / 2
	for _, tt := range []struct {
		name string
		legs []traverse.Leg
		k    int
		live []uint64
		want int64
	}{
		{"sum reaches the threshold", legs(top, half, threshold-half), 10, nil, 1 + 4},
		{"sum misses the threshold by 1", legs(top, half, threshold-half-1), 10, nil, 1},
		{"of equal bounds, the first is before the others", legs(top, half, half, half+1), 10, nil, 1 + 4 + 8},
		{"greater bounds do not count", legs(top, 1, threshold-1, threshold+1), 10, nil, 1 + 4 + 8},
		{"k=0", legs(top, 1), 0, nil, 1 + 2},
		{"k of no list", legs(top, 1), 11, nil, 1 + 2},
		{"replaced bounds", replaced, 10, nil, 1 + 2},
		{"deletions", legs(top, 1), 10, make([]uint64, 1), 1 + 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := traverse.Essential(tt.legs, tt.k, tt.live); got != tt.want {
				t.Errorf("%d postings are essential, want %d", got, tt.want)
			}
		})
	}
}
