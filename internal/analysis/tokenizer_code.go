package analysis

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// codeTokenizer makes words of identifiers as a whole and of their parts, so that both are found:
//
//	net.parseURLWith_utf8  0 to 6: net.parseURLWith_utf8
//	                       0: net   1 to 6: parseURLWith_utf8
//	                       1 to 3: parseURLWith   4 to 5: utf8
//	                       1: parse  2: URL  3: With  4: utf  5: 8
//
// An identifier is a run of letters, marks, digits, low lines, and dots between two such characters. Parts end
// at dots, at low lines, where upper case begins a word (camelCase, HTTPServer), and between letters and
// digits. C++, C#, F#, J# and Q# keep their sign, and have no part without it. Ideographs and Hiragana are
// words by themselves.
type codeTokenizer struct {
	parts    []span
	position int
}

type span struct{ start, end int }

var _ tokenizer = (*codeTokenizer)(nil)

func (t *codeTokenizer) tokenize(dst []word, text []byte, _ *memory) []word {
	t.position = 0
	for i := 0; i < len(text); {
		start := i
		r, size := utf8.DecodeRune(text[i:])
		i += size
		switch {
		case isIdeograph(r):
			dst = t.add(dst, text, start, i, 1)
			t.position++
		case inIdentifier(r):
			i = identifierEnd(text, start)
			if n := signAfter(text, start, i); n > 0 {
				i += n
				dst = t.add(dst, text, start, i, 1)
				t.position++
				continue
			}
			dst = t.identifier(dst, text, start, i)
		}
	}
	return dst
}

func inIdentifier(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || byteClass[r]&(letterByte|digitByte) != 0
	}
	return (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)) && !isIdeograph(r)
}

func isIdeograph(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Ideographic, unicode.Hiragana)
}

// identifierEnd returns the end of the identifier that starts at start, of maxWordUnits characters at
// most.
func identifierEnd(text []byte, start int) int {
	i := start
	for n := 0; i < len(text) && n < maxWordUnits; n++ {
		r, size := utf8.DecodeRune(text[i:])
		if !inIdentifier(r) {
			if r != '.' || i == start {
				break
			}
			if next, _ := utf8.DecodeRune(text[i+1:]); i+1 == len(text) || !inIdentifier(next) {
				break
			}
		}
		i += size
	}
	return i
}

// signAfter returns the length of the sign that belongs to the name before it.
func signAfter(text []byte, start, end int) int {
	rest := text[end:]
	switch name := text[start:end]; {
	case bytes.HasPrefix(rest, []byte("++")) && !bytes.HasPrefix(rest, []byte("+++")) && (bytes.EqualFold(name, []byte("c")) || bytes.EqualFold(name, []byte("g"))):
		return 2
	case len(rest) > 0 && rest[0] == '#' && len(name) == 1 && bytes.IndexByte([]byte("cfjqCFJQ"), name[0]) >= 0:
		if r, _ := utf8.DecodeRune(rest[1:]); len(rest) > 1 && (inIdentifier(r) || r == '#') {
			return 0
		}
		return 1
	}
	return 0
}

func (t *codeTokenizer) add(dst []word, text []byte, start, end, length int) []word {
	return append(dst, word{term: text[start:end:end], start: start, end: end, position: t.position, length: length})
}

// identifier adds an identifier and its parts.
func (t *codeTokenizer) identifier(dst []word, text []byte, start, end int) []word {
	t.parts = t.parts[:0]
	dst, _ = t.divide(dst, text, start, end, 0)
	return dst
}

// levels of an identifier's parts, from the outside.
var levels = []func(text []byte, i, end int) (separator int, ends bool){
	func(text []byte, i, _ int) (int, bool) { return 1, text[i] == '.' },
	func(text []byte, i, _ int) (int, bool) { return 1, text[i] == '_' },
	func(text []byte, i, end int) (int, bool) { return 0, beginsUpper(text[:end], i) },
	func(text []byte, i, end int) (int, bool) { return 0, beginsDigits(text[:end], i) },
}

// divide adds text[start:end], if it has several parts of a level or no level is left, and the words within
// it. It returns the number of positions.
func (t *codeTokenizer) divide(dst []word, text []byte, start, end, level int) ([]word, int) {
	for start < end && text[start] == '_' && level > 0 {
		start++
	}
	for start < end && text[end-1] == '_' && level > 0 {
		end--
	}
	if start == end {
		return dst, 0
	}
	if level == len(levels) {
		dst = t.add(dst, text, start, end, 1)
		t.position++
		return dst, 1
	}
	first := len(t.parts)
	from := start
	for i := start; i < end; {
		_, size := utf8.DecodeRune(text[i:end])
		if n, ends := levels[level](text, i, end); ends && i > start {
			if from < i {
				t.parts = append(t.parts, span{from, i})
			}
			from = i + n
		}
		i += size
	}
	if from < end {
		t.parts = append(t.parts, span{from, end})
	}
	last := len(t.parts)
	if last-first == 1 {
		only := t.parts[first]
		t.parts = t.parts[:first]
		return t.divide(dst, text, only.start, only.end, level+1)
	}
	whole, position := len(dst), t.position
	dst = append(dst, word{term: text[start:end:end], start: start, end: end, position: position})
	length := 0
	for i := first; i < last; i++ {
		var n int
		dst, n = t.divide(dst, text, t.parts[i].start, t.parts[i].end, level+1)
		length += n
	}
	t.parts = t.parts[:first]
	if length == 0 { // low lines only
		return dst[:whole], 0
	}
	dst[whole].length = length
	return dst, length
}

// beginsUpper reports whether a word of camel case begins at i: aB, before B in ABc,
// and 1Bc.
func beginsUpper(text []byte, i int) bool {
	r, size := utf8.DecodeRune(text[i:])
	if !unicode.IsUpper(r) || i == 0 {
		return false
	}
	before, _ := utf8.DecodeLastRune(text[:i])
	after, _ := utf8.DecodeRune(text[i+size:])
	if unicode.IsUpper(before) || unicode.IsDigit(before) {
		return unicode.IsLower(after)
	}
	return unicode.IsLetter(before) || unicode.IsMark(before)
}

// beginsDigits reports whether digits begin or end at i.
func beginsDigits(text []byte, i int) bool {
	if i == 0 {
		return false
	}
	before, _ := utf8.DecodeLastRune(text[:i])
	r, _ := utf8.DecodeRune(text[i:])
	return unicode.IsDigit(before) != unicode.IsDigit(r) && !unicode.IsMark(r)
}
