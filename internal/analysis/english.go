package analysis

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Lucene's EnglishPossessiveFilter, LowerCaseFilter, StopFilter and a stemmer, in this order.
type englishTerms struct {
	stem  func(dst, word []byte) []byte // appends the stem of a word in lower case
	lower []byte
}

var (
	_ termMaker   = (*englishTerms)(nil)
	_ startKeeper = (*englishTerms)(nil)
)

func (e *englishTerms) keepsStart() bool { return true }

func (e *englishTerms) appendTerm(dst, word []byte) []byte {
	e.lower = appendLower(e.lower[:0], trimPossessive(word))
	if len(e.lower) <= maxStopWordBytes && englishStopWords[string(e.lower)] {
		return dst
	}
	return e.stem(dst, e.lower)
}

// With any of the three apostrophes that Lucene knows.
func trimPossessive(word []byte) []byte {
	n := len(word)
	if n < 2 || word[n-1] != 's' && word[n-1] != 'S' {
		return word
	}
	rest := word[:n-1]
	for _, apostrophe := range []string{"'", "’", "＇"} {
		if bytes.HasSuffix(rest, []byte(apostrophe)) {
			return rest[:len(rest)-len(apostrophe)]
		}
	}
	return word
}

// Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET.
var englishStopWords = func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range []string{
		"a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in",
		"into", "is", "it", "no", "not", "of", "on", "or", "such", "that", "the",
		"their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
	} {
		set[w] = true
	}
	return set
}()

const maxStopWordBytes = 5

// Character by character (simple case mapping, as Lucene's LowerCaseFilter).
func appendLower(dst, word []byte) []byte {
	for i := 0; i < len(word); {
		c := word[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(word[i:])
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
		i += size
	}
	return dst
}
