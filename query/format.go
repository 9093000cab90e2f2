package query

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Canonical text names every operand's field, writes AND as + and NOT as -, puts inner groups
// in parentheses, and escapes characters that could act as operators. For every tree n of
// Parse,
//
//	Parse(n.String(), fields) equals n
//
// within the language's limits; the text may be longer, and nested deeper, than the parsed one.
//
// For a valid built tree, Parse(n.String(), fields) matches the same documents with the same scores, except
// where the language has no notation: ParseWeights reads a *Weights without a field; *Words whose words the
// analyzer splits become phrases; a Boolean that mixes Should with Plain or Must gets Plain instead of Should,
// which is exact in mode "or" only; Exact texts and Terms become words; *DisMax and *Boosting are written as in
// Lucene's explanations, and options without operators are left out.

// String returns the canonical text.
func (t *Term) String() string { return string(t.append(nil)) }

// String returns the canonical text.
func (p *Phrase) String() string { return string(p.append(nil)) }

// String returns the words, each escaped.
func (w *Words) String() string {
	switch {
	case factor(w.Boost) != 1 || w.AtLeast != "":
		return string(appendOperand(nil, w))
	case w.Field == "" && w.isPlain() && isCanonical(w.Text):
		return w.Text
	}
	return string(w.append(nil))
}

// isCanonical reports whether a text consists of words of ASCII letters and digits between single
// spaces, none of which is a keyword. It is then its own canonical form.
func isCanonical(text string) bool {
	start := 0 // of the word
	for i := 0; ; i++ {
		switch {
		case i == len(text) || text[i] == ' ':
			if i == start || slices.Contains(keywords[:], text[start:i]) {
				return false
			}
			if i == len(text) {
				return true
			}
			start = i + 1
		case !isAlphanumeric(text[i]):
			return false
		}
	}
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// String returns the canonical text, without outer parentheses unless there is a Boost.
func (b *Boolean) String() string {
	if factor(b.Boost) != 1 || b.AtLeast != "" {
		return string(appendOperand(make([]byte, 0, 128), b))
	}
	return string(b.append(make([]byte, 0, 128)))
}

func (t *Term) append(dst []byte) []byte {
	return appendBoost(appendWord(appendField(dst, t.Field), t.Text), t.Boost)
}

func appendWord(dst []byte, word string) []byte {
	if isPlain(word) && !slices.Contains(keywords[:], word) {
		return append(dst, word...)
	}
	start := len(dst)
	if slices.Contains(keywords[:], word) {
		dst = append(dst, '\\')
	}
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRuneInString(word[i:])
		if strings.ContainsRune(`\"():^`, r) || i == 0 && strings.ContainsRune("+-{[<>/", r) || unicode.IsSpace(r) {
			dst = append(dst, '\\')
		}
		dst = append(dst, word[i:i+size]...)
		i += size
	}
	written := string(dst[start:])
	if i := fuzzyAt(written); i > 0 {
		written = written[:i] + `\` + written[i:]
		dst = append(dst[:start], written...)
	}
	if wildcardAt(written) >= 0 || written == "*" {
		dst = append(dst[:start], strings.NewReplacer(`*`, `\*`, `?`, `\?`).Replace(written)...)
	}
	return dst
}

// isPlain reports whether a word has only ASCII letters and digits, none of which needs a backslash.
func isPlain(word string) bool {
	for i := range len(word) {
		c := word[i]
		if c|0x20 < 'a' && (c < '0' || c > '9') || c|0x20 > 'z' {
			return false
		}
	}
	return word != ""
}

func (p *Phrase) append(dst []byte) []byte {
	dst = appendQuoted(appendField(dst, p.Field), p.Text)
	if p.Slop > 0 {
		dst = strconv.AppendInt(append(dst, '~'), int64(p.Slop), 10)
	}
	if p.Prefix {
		dst = append(dst, '*')
	}
	return appendBoost(dst, p.Boost)
}

func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := range len(text) {
		if c := text[i]; c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}

// isPlain: nothing but the text matters.
func (w *Words) isPlain() bool { return w.Occur == Plain && w.Similar == nil && !w.Prefix }

func (w *Words) append(dst []byte) []byte {
	words := strings.Fields(w.Text)
	for i, word := range words {
		if i > 0 {
			dst = append(dst, ' ')
			if w.Occur == Should {
				dst = append(dst, "OR "...)
			}
		}
		if w.Occur == Must && len(words) > 1 {
			dst = append(dst, '+')
		}
		switch dst = appendField(dst, w.Field); {
		case w.Prefix && i == len(words)-1:
			dst = appendPattern(dst, word, "*")
		case w.Similar != nil:
			dst = append(appendWord(dst, word), w.Similar.String()...)
		default:
			dst = appendWord(dst, word)
		}
	}
	return dst
}

func (b *Boolean) append(dst []byte) []byte {
	start := len(dst)
	onlyShould := !slices.ContainsFunc(b.Clauses, func(c Clause) bool { return c.Occur != Should && c.Occur != MustNot })
	if onlyShould { // "a OR b -c": the clauses of OR must be neighbours
		for _, c := range b.Clauses {
			if c.Occur == Should {
				if len(dst) > start {
					dst = append(dst, " OR "...)
				}
				dst = appendOperand(dst, c.Node)
			}
		}
	}
	for _, c := range b.Clauses {
		if onlyShould && c.Occur == Should {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		switch c.Occur {
		case Must:
			dst = append(dst, '+')
		case MustNot:
			dst = append(dst, '-')
		case Filter:
			dst = (&Constant{Node: c.Node}).append(append(dst, '+'))
			continue
		}
		dst = appendOperand(dst, c.Node)
	}
	return dst
}

func appendOperand(dst []byte, node Node) []byte {
	switch n := node.(type) {
	case *Words:
		return appendBoost(appendAtLeast(append(n.append(append(dst, '(')), ')'), n.AtLeast), n.Boost)
	case *Boolean:
		return appendBoost(appendAtLeast(append(n.append(append(dst, '(')), ')'), n.AtLeast), n.Boost)
	case nil:
		return dst
	case *Weights:
		if n.Field == "" {
			return dst // it cannot be here
		}
		return n.append(dst)
	case interface{ append(dst []byte) []byte }:
		return n.append(dst)
	}
	return dst
}

func appendAtLeast(dst []byte, m Minimum) []byte {
	if m == "" {
		return dst
	}
	return append(append(dst, '~'), m...)
}

func appendField(dst []byte, field string) []byte {
	if field == "" {
		return dst
	}
	return append(append(dst, field...), ':')
}

func appendBoost(dst []byte, boost float64) []byte {
	if factor(boost) == 1 {
		return dst
	}
	return strconv.AppendFloat(append(dst, '^'), boost, 'f', -1, 64)
}
