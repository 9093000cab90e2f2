package plan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/traverse"
)

// candidatesOf returns the live documents of a segment that have all common words, by counting them in the whole lists.
func candidatesOf(t testing.TB, p *Plan, segment int) (docs []uint32) {
	st, view := &p.stages[0], p.planner.snapshot.Segments[segment]
	counts := make([]int, view.NumDocs())
	for i := range st.NumCommon() {
		var leg traverse.Leg
		if err := CommonLeg(p, &leg, 0, segment, i); err != nil {
			t.Fatal(err)
		}
		if leg.List.DocFreq == 0 {
			continue
		}
		var c postings.Cursor
		c.Reset(leg.List, nil)
		for doc := c.NextGEQ(0); doc != base.NoDocID; doc = c.NextGEQ(doc + 1) {
			counts[doc]++
		}
	}
	for doc, n := range counts {
		if n == st.NumCommon() && (view.Live == nil || view.Live.Has(doc)) {
			docs = append(docs, uint32(doc))
		}
	}
	return docs
}

// The positions of candidates give the CPU's hits and matches: with phrases of every kind, alone or not, by one worker and
// by several, and with segments that have no candidates.
func TestCommon(t *testing.T) {
	for _, c := range []struct {
		name               string
		reordered, helpers bool
	}{{"plain", false, false}, {"reordered", true, false}, {"helpers", false, true}} {
		t.Run(c.name, func(t *testing.T) { testCommon(t, c.reordered, c.helpers) })
	}
}

func testCommon(t *testing.T, reordered, helpers bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(72, 1))
	s, sc := foundIndex(t, rng, reordered), testScratch(t, "whitespace")
	if helpers {
		crew := eagerCrew(4, 0)
		crew.least = 512 // segments of several ranges
		s.Share(crew)
	}
	word := func() string {
		if rng.IntN(2) == 0 {
			return plantest.RandomWord(rng)
		}
		return fmt.Sprintf("p%d", rng.IntN(12))
	}
	phrase := func() string {
		if p := rng.IntN(10); rng.IntN(2) == 0 {
			return fmt.Sprintf(`"p%d p%d"`, p, p+1)
		}
		return fmt.Sprintf(`"%s"`, plantest.RandomWords(rng, 2+rng.IntN(2)))
	}
	hits, workers := 0, 0
	for i := range 400 {
		text := []func() string{
			phrase,
			func() string { return phrase() + "~3" },
			func() string { return phrase() + "*" },
			func() string { return "+" + phrase() + " +" + word() },
			func() string { return "+" + phrase() + " +" + phrase() + " " + word() },
			func() string { return "+" + phrase() + " -" + word() + " " + phrase() },
			func() string { return "+" + phrase() + " +(" + word() + " " + phrase() + ")" },
			func() string { return "+" + phrase() + " +" + word() + " +" + word() + "^=2" },
			func() string { return "+" + phrase() + "~2 +" + word() + " -" + phrase() },
			func() string { return "+" + phrase() + "* +" + word() },
		}[i%10]()
		p := prepare(t, s, sc, text, Options{K: []int{0, 1, 10, 100, 10_000}[rng.IntN(5)], Count: true})
		if rng.IntN(2) == 0 && p.k > 0 {
			p.counts = false
		}
		p.SortTerms()
		n := p.Stage(0).NumCommon()
		if n == 0 { // one word twice
			continue
		}
		for j := 1; j < n; j++ {
			if CommonLength(p, 0, j-1) > CommonLength(p, 0, j) {
				t.Errorf("%s: list %d is longer than the next one", text, j-1)
			}
		}
		want, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		from := Common{Docs: func(segment int) []uint32 { return candidatesOf(t, p, segment) }}
		for segment := range s.Snapshot().Segments {
			if rng.IntN(6) == 0 {
				from.Whole = append(from.Whole, segment)
			}
		}
		var got Answer
		var trace Trace
		if err := RunCommon(t.Context(), p, sc, 0, from, nil, &got, &trace); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Hits, want.Hits) || got.Matches != want.Matches {
			t.Fatalf("%s, k %d, counts %t: %d matches, hits\n%v\nwant %d\n%v", text, p.k, p.counts, got.Matches, got.Hits, want.Matches, want.Hits)
		}
		hits, workers = hits+len(got.Hits), max(workers, got.Workers)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := RunCommon(ended, p, sc, 0, from, nil, new(Answer), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v of a context that has ended", text, err)
		}
	}
	if hits == 0 || helpers != (workers > 1) {
		t.Errorf("%d hits, at most %d workers", hits, workers)
	}
}

// A stage has common words if it requires a phrase and there are several.
func TestWhyNotCommon(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 1))
	s, sc := foundIndex(t, rng, false), testScratch(t, "whitespace")
	for _, c := range []struct {
		text   string
		common int
		whyNot string
	}{
		{`"w1 w2"`, 2, wordsPhrase},
		{`"w1 w2 w1"`, 2, wordsPhrase},
		{`+"w1 w2" +w3 w4`, 3, wordsPhrase},
		{`+"w1 w2" +w1`, 2, wordsPhrase},
		{`"w1 w"*`, 0, commonOne},
		{`"w1 w1"`, 0, commonOne},
		{`w3 "w1 w2"`, 0, commonNone},
		{`+w3 "w1 w2"`, 0, commonNone},
		{`+w3 +("w1 w2" w4)`, 0, commonNone},
		{`w3 -"w1 w2"`, 0, ""},
		{`+w3 +w4 -"w1 w2"`, 0, ""},
	} {
		p := prepare(t, s, sc, c.text, Options{K: 10})
		p.SortTerms()
		st := p.Stage(0)
		words, whyNot := st.Words()
		if st.NumCommon() != c.common || whyNot != c.whyNot || (len(words) > 0) != (whyNot == "") {
			t.Errorf("%s: %d common words, %d words, %q; want %d, %q", c.text, st.NumCommon(), len(words), whyNot, c.common, c.whyNot)
		}
		if st.NumCommon() > 0 && len(p.StageLists(0)) != c.common {
			t.Errorf("%s: the lists of a trace are %v", c.text, p.StageLists(0))
		}
	}
}
