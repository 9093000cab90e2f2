package query

import (
	"slices"
	"strconv"
	"strings"
)

// The canonical text of a tree names the field of every operand, writes AND
// as + and NOT as -, puts parentheses around every group within another, and
// escapes each mark that could mean something. For every tree n of Parse whose
// canonical text is within the limits of the language (it may be longer, and
// nested deeper, than what was parsed),
//
//	Parse(n.String(), fields) equals n.

// String returns the canonical text.
func (t *Term) String() string { return string(t.append(nil)) }

// String returns the canonical text.
func (p *Phrase) String() string { return string(p.append(nil)) }

// String returns the text as it is.
func (w *Words) String() string { return w.Text }

// String returns the canonical text, without parentheses if Boost is 1.
func (b *Boolean) String() string {
	if b.Boost != 1 {
		return string(appendOperand(nil, b))
	}
	return string(b.append(nil))
}

func (t *Term) append(dst []byte) []byte {
	dst = appendField(dst, t.Field)
	if slices.Contains(keywords[:], t.Text) {
		dst = append(dst, '\\')
	}
	for i := range len(t.Text) {
		c := t.Text[i]
		if strings.IndexByte(`\"():^`, c) >= 0 || isASCIISpace(c) || i == 0 && (c == '+' || c == '-') {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return appendBoost(dst, t.Boost)
}

func (p *Phrase) append(dst []byte) []byte {
	dst = append(appendField(dst, p.Field), '"')
	for i := range len(p.Text) {
		if c := p.Text[i]; c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, p.Text[i])
	}
	return appendBoost(append(dst, '"'), p.Boost)
}

func (b *Boolean) append(dst []byte) []byte {
	for i, c := range b.Clauses {
		if i > 0 {
			dst = append(dst, ' ')
			if c.Occur == Should {
				dst = append(dst, "OR "...)
			}
		}
		switch c.Occur {
		case Must:
			dst = append(dst, '+')
		case MustNot:
			dst = append(dst, '-')
		}
		dst = appendOperand(dst, c.Node)
	}
	return dst
}

func appendOperand(dst []byte, node Node) []byte {
	switch n := node.(type) {
	case *Term:
		return n.append(dst)
	case *Phrase:
		return n.append(dst)
	case *Boolean:
		return appendBoost(append(n.append(append(dst, '(')), ')'), n.Boost)
	}
	return dst
}

func appendField(dst []byte, field string) []byte {
	if field == "" {
		return dst
	}
	return append(append(dst, field...), ':')
}

func appendBoost(dst []byte, boost float64) []byte {
	if boost == 1 {
		return dst
	}
	return strconv.AppendFloat(append(dst, '^'), boost, 'f', -1, 64)
}
