package snippet

import (
	"github.com/clipperhouse/uax29/v2/sentences"
)

// Longer sentences are not examined.
const maxSentenceBytes = 4 << 10

// The first sentence by UAX #29; not ok if it ends neither before text nor within
// maxSentenceBytes.
func sentence(text []byte) (n int, ok bool) {
	near := text
	if len(near) > maxSentenceBytes {
		near = near[:maxSentenceBytes]
	}
	if n = plainSentence(near); n < 0 {
		n, _, _ = sentences.SplitFunc(near, true /* atEOF */)
	}
	return n, n > 0 && n < len(near)
}

// Sentence_Break properties of ASCII characters in cleaned text.
const (
	sentenceOther = iota // also blanks
	sentenceLower
	sentenceUpper
	sentenceDigit    // Numeric
	sentenceFullStop // ATerm
	sentenceTerm     // STerm
	sentenceClose
	sentenceContinue // SContinue
	sentenceBreak    // paragraph
	sentenceHigh     // part of a character beyond ASCII, or a character that is not in cleaned text
)

var sentenceClass = func() (class [256]uint8) {
	for c := range class {
		switch {
		case 'a' <= c && c <= 'z':
			class[c] = sentenceLower
		case 'A' <= c && c <= 'Z':
			class[c] = sentenceUpper
		case '0' <= c && c <= '9':
			class[c] = sentenceDigit
		case c == paragraph:
			class[c] = sentenceBreak
		case c < ' ' || c >= 0x7f:
			class[c] = sentenceHigh
		}
	}
	set := func(chars string, to uint8) {
		for _, c := range []byte(chars) {
			class[c] = to
		}
	}
	set(".", sentenceFullStop)
	set("!?", sentenceTerm)
	set(`"'()[]{}`, sentenceClose)
	set(",-:;", sentenceContinue)
	return class
}()

// plainSentence is the length of the first sentence, or -1 if its end depends on a character beyond ASCII. uax29 looks
// up each character in a trie, which takes ten times longer.
func plainSentence(text []byte) int {
	for i := 0; i < len(text); {
		switch sentenceClass[text[i]] {
		case sentenceBreak: // SB4
			return i + 1
		case sentenceFullStop, sentenceTerm:
			next, end := afterTerm(text, i)
			if end {
				return next
			}
			if next < 0 {
				return -1
			}
			i = next
		case sentenceHigh:
			n := neutral(text[i:])
			if n == 0 {
				return -1
			}
			i += n
		default:
			i++
		}
	}
	return len(text)
}

// neutral is the length of a common character beyond ASCII that ends no sentence: a Latin letter, a dash or a quotation
// mark.
func neutral(text []byte) int {
	switch {
	case len(text) >= 2 && 0xc3 <= text[0] && text[0] <= 0xc8 && text[1]&0xc0 == 0x80: // U+00C0 to U+023F
		return 2
	case len(text) >= 3 && text[0] == 0xe2 && text[1] == 0x80 && 0x93 <= text[2] && text[2] <= 0x9e: // U+2013 to U+201E
		return 3
	}
	return 0
}

// afterTerm decides whether the terminator at text[i] ends a sentence. If it does, next is the beginning of the next
// sentence; otherwise the place at which the scan continues, or -1 if a character beyond ASCII decides.
func afterTerm(text []byte, i int) (next int, end bool) {
	class := func(i int) uint8 {
		if i < len(text) {
			return sentenceClass[text[i]]
		}
		return sentenceOther
	}
	fullStop := text[i] == '.'
	p := i + 1
	if fullStop {
		switch class(p) {
		case sentenceDigit: // SB6
			return p, false
		case sentenceUpper: // SB7
			if i > 0 {
				switch class(i - 1) {
				case sentenceLower, sentenceUpper:
					return p, false
				case sentenceHigh:
					return -1, false
				}
			}
		}
	}
	for class(p) == sentenceClose {
		p++
	}
	for p < len(text) && text[p] == ' ' {
		p++
	}
	switch class(p) {
	case sentenceHigh:
		return -1, false
	case sentenceContinue, sentenceFullStop, sentenceTerm: // SB8a
		return p, false
	case sentenceBreak: // SB9, SB10
		return p + 1, true
	}
	if !fullStop {
		return p, true
	}
	for q := p; q < len(text); q++ { // SB8
		switch class(q) {
		case sentenceLower:
			return p, false
		case sentenceUpper, sentenceBreak, sentenceFullStop, sentenceTerm:
			return p, true
		case sentenceHigh:
			return -1, false
		}
	}
	return p, true
}
