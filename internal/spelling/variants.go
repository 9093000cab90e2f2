package spelling

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxVariantLength bounds the characters of words that get variants.
const maxVariantLength = 40

// addVariants adds the terms of the texts within one edit of a word, in lower case. Stems of similar words can be
// far apart: of "documants" and "documents", the analyzer english makes "documant" and "docum".
func (d *Dictionary) addVariants(typed string, prefix int, freqs map[string]uint64, scores map[string]float64) error {
	word := []rune(strings.ToLower(typed))
	if d.analyzer == nil || len(word) > maxVariantLength || !utf8.ValidString(typed) {
		return nil
	}
	var failed error
	eachVariant(word, prefix, func(variant string, shorter int) {
		if failed != nil {
			return
		}
		d.tokens = d.analyzer.Tokens(d.tokens[:0], []byte(variant))
		if len(d.tokens) != 1 || int(d.tokens[0].End-d.tokens[0].Start) != len(variant) {
			return
		}
		term := string(d.tokens[0].Term)
		score := 1 - 1/float64(max(shorter, 1))
		if scores[term] >= score {
			return
		}
		n, known := freqs[term]
		if !known {
			n, failed = d.DocFreq(term)
			freqs[term] = n
		}
		if n > 0 {
			scores[term] = score
		}
	})
	return failed
}

// eachVariant visits the texts within one edit of a word, some several times, with the number of characters of
// the shorter of the two. New characters are the word's and a to z.
func eachVariant(word []rune, prefix int, visit func(variant string, shorter int)) {
	letters := []rune("abcdefghijklmnopqrstuvwxyz")
	for _, r := range word {
		if !slices.Contains(letters, r) {
			letters = append(letters, r)
		}
	}
	n := len(word)
	variant := make([]rune, 0, n+1)
	for i := min(prefix, n); i <= n; i++ {
		for _, r := range letters {
			variant = append(append(append(variant[:0], word[:i]...), r), word[i:]...)
			visit(string(variant), n)
			if i < n {
				variant = append(append(append(variant[:0], word[:i]...), r), word[i+1:]...)
				visit(string(variant), n)
			}
		}
		if i < n {
			variant = append(append(variant[:0], word[:i]...), word[i+1:]...)
			visit(string(variant), n-1)
		}
		if i+1 < n {
			variant = append(append(variant[:0], word[:i]...), word[i+1], word[i])
			variant = append(variant, word[i+2:]...)
			visit(string(variant), n)
		}
	}
}
