package automaton

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/suggest"
)

// A text is accepted if one of its beginnings is within the edits of the word.
func TestBeginning(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	random := func(n int) string {
		word := make([]rune, rng.IntN(n))
		for i := range word {
			word[i] = []rune("abABéÉ")[rng.IntN(6)]
		}
		return string(word)
	}
	for range 5000 {
		word, text, edits, prefix := random(6), random(9), rng.IntN(3), rng.IntN(3)
		folded, begin := []rune(strings.ToLower(text)), []rune(strings.ToLower(word))
		least := edits + 1
		for n := range len(folded) + 1 {
			least = min(least, suggest.Distance(string(begin), string(folded[:n])))
		}
		if got := BeginningEdits(word, text, edits, true); got != least {
			t.Fatalf("%q in %q: %d edits, want %d", word, text, got, least)
		}
		want := least <= edits && strings.HasPrefix(string(folded), string(begin[:min(prefix, len(begin))]))
		if got := NewBeginning(word, edits, prefix, true).Match(text); got != want {
			t.Fatalf("%q in %q with %d edits after %d: %t, want %t", word, text, edits, prefix, got, want)
		}
	}
}
