package snippet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// White space with an empty line becomes a paragraph, which ends sentences; other white space
// one blank.
const paragraph = '\n'

// normalizer cleans text piece by piece: white space is collapsed, control characters become
// white space (a fragment must not control a terminal), and invalid UTF-8 becomes U+FFFD.
type normalizer struct {
	clean    []byte
	newlines int // in the white space at the end of clean
}

func (n *normalizer) reset() { n.clean, n.newlines = n.clean[:0], 0 }

// text must end at a character boundary.
func (n *normalizer) add(text string) {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c > ' ' && c < 0x7f:
			run := i + cleanRun(text[i:])
			n.clean = append(n.clean, text[i:run]...)
			n.newlines, i = 0, run
		case c < utf8.RuneSelf:
			n.addSpace(c == '\n')
			i++
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			if unicode.IsSpace(r) || unicode.IsControl(r) {
				n.addSpace(false /* newline */)
			} else {
				n.clean = utf8.AppendRune(n.clean, r)
			}
			i += size
		}
	}
}

// cleanRun returns the length of the beginning of text that needs no change: ASCII words with single blanks between
// them. text begins with a word.
func cleanRun(text string) int {
	for i := 1; i < len(text); i++ {
		if c := text[i]; c < ' ' || c >= 0x7f || c == ' ' && text[i-1] == ' ' {
			return i
		}
	}
	return len(text)
}

func (n *normalizer) addSpace(newline bool) {
	last := len(n.clean) - 1
	if last < 0 {
		return
	}
	if c := n.clean[last]; c != ' ' && c != paragraph {
		n.clean = append(n.clean, ' ')
		n.newlines = 0
		last++
	}
	if newline {
		if n.newlines++; n.newlines > 1 {
			n.clean[last] = paragraph
		}
	}
}

func (n *normalizer) bytes() []byte {
	end := len(n.clean)
	for end > 0 && isBlank(n.clean[end-1]) {
		end--
	}
	return n.clean[:end]
}

func (n *normalizer) line(start, end int) string {
	return strings.ReplaceAll(string(n.clean[start:end]), string(paragraph), " ")
}

func isBlank(c byte) bool { return c == ' ' || c == paragraph }

func countChars(text []byte) int { return utf8.RuneCount(text) }

// cutText cuts after the last white space from start to end or, if that is not near, between
// characters.
func cutText(text string, start, end int) int {
	near := max(start, end-maxWordBytes)
	if space := strings.LastIndexAny(text[near:end], " \t\n"); space >= 0 {
		return near + space + 1
	}
	for i := end; i > start && i > end-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return end
}
