package analysis

import (
	"unicode"
	"unicode/utf8"
)

// whitespaceAnalyzer is for tokenised text. Terms are maximal runs without white space (the
// Unicode property) and bytes that are not UTF-8, unchanged. A run of more than maxWordUnits
// bytes is cut there, at the start of a character; Lucene's WhitespaceTokenizer counts
// characters.
type whitespaceAnalyzer struct {
	name  string
	terms []byte // copy of the text of one call
}

var _ Analyzer = (*whitespaceAnalyzer)(nil)

func (a *whitespaceAnalyzer) Name() string { return a.name }

func (a *whitespaceAnalyzer) Tokens(dst []Token, text []byte) []Token {
	a.terms = append(a.terms[:0], clip(text)...)
	text = a.terms
	position := uint32(0)
	for i := 0; i < len(text); {
		size := termCharacter(text[i:])
		if size == 0 {
			_, skip := utf8.DecodeRune(text[i:])
			i += skip
			continue
		}
		start := i
		for size > 0 && i+size-start <= maxWordUnits {
			i += size
			size = termCharacter(text[i:])
		}
		dst = append(dst, Token{Term: text[start:i:i], Start: int32(start), End: int32(i), Position: position})
		position++
	}
	return dst
}

// 0 if text is empty or starts with a separator.
func termCharacter(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	if c := text[0]; c < utf8.RuneSelf {
		switch c {
		case ' ', '\t', '\n', '\v', '\f', '\r':
			return 0
		}
		return 1
	}
	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size <= 1 || unicode.IsSpace(r) {
		return 0
	}
	return size
}
