package spelling

import (
	"testing"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/suggest"
)

// The variants of a word are the texts within one edit that begin as it does.
func TestEachVariant(t *testing.T) {
	for _, word := range []string{"", "a", "ab", "aab", "aßc"} {
		for prefix := range 3 {
			begin := string([]rune(word)[:min(prefix, utf8.RuneCountInString(word))])
			got := map[string]bool{}
			eachVariant([]rune(word), prefix, func(variant string, shorter int) {
				got[variant] = true
				if d := suggest.Distance(word, variant); d > 1 || variant[:len(begin)] != begin {
					t.Errorf("%q has the variant %q with %d edits, after %q", word, variant, d, begin)
				}
				if want := min(utf8.RuneCountInString(word), utf8.RuneCountInString(variant)); shorter != want {
					t.Errorf("%q, %q: the shorter has %d characters, want %d", word, variant, shorter, want)
				}
			})
			letters := []rune("abcßz")
			var walk func(text string, left int)
			walk = func(text string, left int) {
				if suggest.Distance(word, text) == 1 && len(text) >= len(begin) && text[:len(begin)] == begin && !got[text] && isVariant(word, text) {
					t.Errorf("%q has not the variant %q after %q", word, text, begin)
				}
				if left > 0 {
					for _, r := range letters {
						walk(text+string(r), left-1)
					}
				}
			}
			walk("", 4)
		}
	}
}

// isVariant: new characters are a to z or the word's.
func isVariant(word, text string) bool {
	for _, r := range text {
		known := r < utf8.RuneSelf
		for _, w := range word {
			known = known || r == w
		}
		if !known {
			return false
		}
	}
	return true
}
