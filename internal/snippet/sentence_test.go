package snippet

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clipperhouse/uax29/v2/sentences"
)

func checkSentence(t *testing.T, text string) (plain bool) {
	t.Helper()
	n := plainSentence([]byte(text))
	if n < 0 {
		return false
	}
	want, _, _ := sentences.SplitFunc([]byte(text), true /* atEOF */)
	if n != want {
		t.Fatalf("the first sentence of %q has %d bytes, want %d", text, n, want)
	}
	return true
}

// Sentences equal the sentences of uax29, from each place of random texts. The texts have all characters
// that the rules distinguish.
func TestPlainSentence(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	pieces := []string{"a", "B", "word ", "A. ", "3", ".", ".", "!", "?", "\"", "'", ")", "[", ",", "-", ";", ":", " ", "  ", "\n", "$", "_", "/", "é", "Œ", "“", "”", "—", "。", "\u0301", "\u00a0", "\u2028", "я"}
	plain, all := 0, 0
	for range 60_000 {
		var text []byte
		kinds := 23 + rng.IntN(2)*(len(pieces)-23)
		for range 1 + rng.IntN(14) {
			text = append(text, pieces[rng.IntN(kinds)]...)
		}
		all++
		if checkSentence(t, string(text)) {
			plain++
		}
	}
	if plain < all/2 {
		t.Errorf("only %d of %d sentences were plain", plain, all)
	}
}

func FuzzSentence(f *testing.F) {
	f.Add("He said “no.” She left. The U.S. is big (3.5 m. people)! Is it? é. Œ")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\ufffd") // as cleaned text
		for i := range text {
			checkSentence(t, text[i:])
		}
	})
}
