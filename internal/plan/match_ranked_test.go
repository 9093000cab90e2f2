package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

// MatchRanked gives the matches and the hits of two passes.
func TestMatchRanked(t *testing.T) {
	for _, reordered := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(72, 1))
		s, sc := foundIndex(t, rng, reordered), testScratch(t, "whitespace")
		done := 0
		for range 300 {
			text := fmt.Sprintf("+p%d +p%d", rng.IntN(12), rng.IntN(12))
			switch rng.IntN(6) {
			case 0:
				text += fmt.Sprintf(" +p%d", rng.IntN(12))
			case 1:
				text += " +nowhere"
			}
			o := Options{K: []int{1, 10, 100}[rng.IntN(3)]}
			p := prepare(t, s, sc, text, o)
			want, err := p.RunCPU(t.Context(), sc, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			var matches, got [][]uint64
			if err := p.Matches(t.Context(), sc, appendTo(&matches)); err != nil {
				t.Fatal(err)
			}
			a, ok, err := MatchRanked(t.Context(), p, sc, nil, appendTo(&got))
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			done++
			if !slices.Equal(a.Hits, want.Hits) || a.Mode != want.Mode || a.Traversal == treeTraversal {
				t.Fatalf("%s, k=%d: %v of %s, want %v", text, o.K, a.Hits, a.Traversal, want.Hits)
			}
			if !slices.EqualFunc(got, matches, slices.Equal[[]uint64]) {
				t.Fatalf("%s: other matches", text)
			}
		}
		if done < 100 {
			t.Errorf("%d conjunctions had a rare word", done)
		}
	}
}

func appendTo(out *[][]uint64) func(segment int, words []uint64) error {
	return func(_ int, words []uint64) error {
		*out = append(*out, slices.Clone(words))
		return nil
	}
}

// MatchRanked leaves other plans alone, and reports the errors of lists and of its caller.
func TestMatchRankedDeclines(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 1))
	s, sc := foundIndex(t, rng, false), testScratch(t, "whitespace")
	none := func(int, []uint64) error { return errBroken }
	for _, c := range []struct {
		query string
		o     Options
	}{
		{"+p9 +p2", Options{K: 10, Count: true}},
		{"+p9 +p2", Options{K: 10, MatchesOnly: true}},
		{"+p9 +p2", Options{K: 0}},
		{"+p9 +p2", Options{K: 10, Traversal: "merge"}},
		{"+p9 +p2 -p3", Options{K: 10}},
		{"+p9 p2", Options{K: 10}},
		{"p9 p2", Options{K: 10}},
		{"p9", Options{K: 10}},
		{"p9 p2", Options{K: 10, Mode: ModeAndOr}},
		{"+p0 +p1", Options{K: 10}},
		{`+p9 +"p1 p2"`, Options{K: 10}},
	} {
		if _, ok, err := MatchRanked(t.Context(), prepare(t, s, sc, c.query, c.o), sc, nil, none); ok || err != nil {
			t.Errorf("%s, %+v: %v, %v", c.query, c.o, ok, err)
		}
	}
	p := prepare(t, s, sc, "+p9 +p2", Options{K: 10})
	if _, ok, err := MatchRanked(t.Context(), p, sc, nil, none); !ok || !errors.Is(err, errBroken) {
		t.Errorf("an error of the caller gives %v, %v", ok, err)
	}
	for i := range s.snapshot.Segments {
		l := p.words.list(i, 0)
		l.Codec = brokenCodec{l.Codec}
	}
	if _, ok, err := MatchRanked(t.Context(), p, sc, nil, func(int, []uint64) error { return nil }); !ok || !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("a broken list gives %v, %v", ok, err)
	}
}
