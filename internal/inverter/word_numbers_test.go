package inverter

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Terms are numbered in order of first occurrence: words that the analyzer's cache has or not, new ones that come
// again in a text, in other forms, and ones without a term.
func TestNumber(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, name := range []string{"english", "simple"} {
		analyzer, err := analysis.New(name)
		if err != nil {
			t.Fatal(err)
		}
		v := newInverter(testSchema(), analyzer, vfs.OS, nil)
		known := map[string]uint32{}
		numTerms, cached, others := 0, 0, 0
		for i := range 400 {
			if i%100 == 99 {
				v.reset()
				clear(known)
			}
			var text strings.Builder
			for range rng.IntN(1000) {
				n := rng.IntN(20_000) * rng.IntN(2)
				fmt.Fprintf(&text, "%s%d%s ", []string{"word", "Word", "größe"}[rng.IntN(3)], n, []string{"", "'s"}[rng.IntN(2)])
			}
			if rng.IntN(4) == 0 {
				text.WriteString(strings.Repeat("long", maxTermBytes/4+1))
			}
			tokens := v.analyze(text.String())
			for j, n := range v.number(tokens) {
				if tokens[j].Word > 0 {
					cached++
				} else {
					others++
				}
				term := string(tokens[j].Term)
				want, ok := known[term]
				switch {
				case len(term) > maxTermBytes:
					want = noTerm
				case !ok:
					want = uint32(len(known))
					known[term] = want
					numTerms++
				}
				if n != want {
					t.Fatalf("%s: text %d: %q has number %d, want %d", name, i, term, n, want)
				}
			}
		}
		if numTerms < 40_000 || others == 0 || (name == "english") != (cached > 0) {
			t.Errorf("%s: %d terms, %d words in the cache, %d others", name, numTerms, cached, others)
		}
	}
}
