package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

// Each term and phrase is listed once, without excluded ones.
func TestSought(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 1))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 100, 2, false)), nil)
	sc := testScratch(t, "whitespace")
	for text, want := range map[string]struct {
		terms   []string
		phrases [][]string
	}{
		"w0":                    {terms: []string{"w0"}},
		"w0 -w1":                {terms: []string{"w0"}},
		`w0 -"w1 w2"`:           {terms: []string{"w0"}},
		`w0 -"w0 w2"`:           {terms: []string{"w0"}},
		`w0 -(w1 "w2 w3")`:      {terms: []string{"w0"}},
		`"w1 w2" w2 -w3`:        {terms: []string{"w1", "w2"}, phrases: [][]string{{"w1", "w2"}}},
		`+w0 (w1 OR "w3 w0")`:   {terms: []string{"w0", "w1", "w3"}, phrases: [][]string{{"w3", "w0"}}},
		`w0 AND (w1 -w2) -"w3"`: {terms: []string{"w0", "w1"}},
	} {
		for _, mode := range []Mode{ModeOr, ModeAnd, ModeAndOr} {
			t.Run("query="+text+"/mode="+mode.String(), func(t *testing.T) {
				p, err := s.Prepare(sc, plantest.Parse(t, text), Options{Mode: mode, K: 10})
				if err != nil {
					t.Fatal(err)
				}
				sought := p.Sought(false)
				var terms []string
				for _, term := range sought.Terms {
					if terms = append(terms, term.Text); term.IDF <= 0 {
						t.Errorf("%s: idf %g", term.Text, term.IDF)
					}
				}
				if slices.Sort(terms); !slices.Equal(terms, want.terms) {
					t.Errorf("terms %q, want %q", terms, want.terms)
				}
				if !slices.EqualFunc(sought.Phrases, want.phrases, slices.Equal[[]string]) {
					t.Errorf("phrases %q, want %q", sought.Phrases, want.phrases)
				}
			})
		}
	}
}
