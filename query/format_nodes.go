package query

import (
	"strconv"
	"strings"
	"unicode"
)

// String returns the canonical text.
func (m *MatchAll) String() string { return string(m.append(nil)) }

// String returns the canonical text.
func (e *Exists) String() string { return string(e.append(nil)) }

// String returns the canonical text.
func (i *IDs) String() string { return string(i.append(nil)) }

// String returns the canonical text.
func (p *Prefix) String() string { return string(p.append(nil)) }

// String returns the canonical text.
func (w *Wildcard) String() string { return string(w.append(nil)) }

// String returns the canonical text.
func (r *Regexp) String() string { return string(r.append(nil)) }

// String returns the canonical text.
func (f *Fuzzy) String() string { return string(f.append(nil)) }

// String returns the values as words of which one must match.
func (t *Terms) String() string { return string(t.append(nil)) }

// String returns the canonical text.
func (r *Range) String() string { return string(r.append(nil)) }

// String returns the canonical text.
func (c *Constant) String() string { return string(c.append(nil)) }

// String returns the nodes between bars, as in (a | b)~0.3.
func (d *DisMax) String() string { return string(d.append(nil)) }

// String returns the nodes between a slash, and the factor, as in (a / b)^0.5.
func (b *Boosting) String() string { return string(b.append(nil)) }

func (m *MatchAll) append(dst []byte) []byte {
	return appendBoost(append(dst, "*:*"...), m.Boost)
}

func (e *Exists) append(dst []byte) []byte {
	return appendBoost(appendWord(append(dst, existsName+":"...), e.Field), e.Boost)
}

func (i *IDs) append(dst []byte) []byte {
	return appendBoost(appendAlternatives(dst, idName, i.IDs), i.Boost)
}

// appendAlternatives writes several values as a group.
func appendAlternatives(dst []byte, field string, values []string) []byte {
	if len(values) != 1 {
		dst = append(dst, '(')
	}
	for i, v := range values {
		if i > 0 {
			dst = append(dst, " OR "...)
		}
		if dst = appendField(dst, field); v == "" {
			dst = append(dst, `""`...)
		} else {
			dst = appendWord(dst, v)
		}
	}
	if len(values) != 1 {
		dst = append(dst, ')')
	}
	return dst
}

func (p *Prefix) append(dst []byte) []byte {
	return appendBoost(appendPattern(appendField(dst, p.Field), p.Text, "*"), p.Boost)
}

// appendPattern writes a literal text and an operator after it.
func appendPattern(dst []byte, text, operator string) []byte {
	return appendEscapedPattern(dst, strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(text)+operator)
}

func (w *Wildcard) append(dst []byte) []byte {
	return appendBoost(appendEscapedPattern(appendField(dst, w.Field), w.Pattern), w.Boost)
}

// appendEscapedPattern escapes all characters with a meaning in the query language,
// except operators of patterns and characters that are already escaped.
func appendEscapedPattern(dst []byte, pattern string) []byte {
	for i := 0; i < len(pattern); {
		size := 1
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern) && escapable(pattern[i+1:]) > 0:
			size = 1 + escapable(pattern[i+1:])
		case c == '\\' || strings.IndexByte(`"():^`, c) >= 0 || i == 0 && strings.IndexByte("+-{[<>/", c) >= 0 || c == '~':
			dst = append(dst, '\\')
		case spaceAt(pattern[i:]) > 0:
			dst = append(dst, '\\')
			size = spaceAt(pattern[i:])
		}
		dst = append(dst, pattern[i:i+size]...)
		i += size
	}
	return dst
}

func (r *Regexp) append(dst []byte) []byte {
	dst = append(appendField(dst, r.Field), '/')
	for i := 0; i < len(r.Pattern); i++ {
		switch {
		case r.Pattern[i] == '\\' && i+1 < len(r.Pattern):
			dst = append(dst, '\\')
			i++
		case r.Pattern[i] == '/':
			dst = append(dst, '\\')
		}
		dst = append(dst, r.Pattern[i])
	}
	return appendBoost(append(dst, '/'), r.Boost)
}

func (f *Fuzzy) append(dst []byte) []byte {
	return appendBoost(append(appendWord(appendField(dst, f.Field), f.Text), f.Similarity.String()...), f.Boost)
}

// String returns the operator: ~ for AUTO, ~1 for one edit.
func (s *Similarity) String() string {
	if len(s.Edits) == 1 {
		return "~" + s.Edits
	}
	return "~"
}

func (t *Terms) append(dst []byte) []byte {
	dst = appendAlternatives(dst, t.Field, t.Values)
	return strconv.AppendFloat(append(dst, "^="...), factor(t.Boost), 'f', -1, 64)
}

func (r *Range) append(dst []byte) []byte {
	dst = append(appendField(dst, r.Field), "[{"[number(r.ExcludeFrom)])
	dst = append(appendBound(dst, r.From), " TO "...)
	return appendBoost(append(appendBound(dst, r.To), "]}"[number(r.ExcludeTo)]), r.Boost)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func appendBound(dst []byte, bound string) []byte {
	switch {
	case bound == "":
		return append(dst, '*')
	case bound == "*" || strings.ContainsAny(bound, `"\[]{}`) || strings.ContainsFunc(bound, unicode.IsSpace):
		return appendQuoted(dst, bound)
	}
	return append(dst, bound...)
}

func (c *Constant) append(dst []byte) []byte {
	if isNil(c.Node) {
		return dst
	}
	own := c.Node.boost()
	switch c.Node.(type) {
	case *Words, *Boolean, *Terms:
		own = nil
	}
	if own == nil || factor(*own) != 1 {
		dst = append(append(append(dst, '('), c.Node.String()...), ')')
	} else {
		dst = appendOperand(dst, c.Node)
	}
	return strconv.AppendFloat(append(dst, "^="...), c.Score, 'f', -1, 64)
}

func (d *DisMax) append(dst []byte) []byte {
	dst = append(dst, '(')
	for i, n := range d.Nodes {
		if i > 0 {
			dst = append(dst, " | "...)
		}
		dst = appendOperand(dst, n)
	}
	dst = append(dst, ')')
	if d.TieBreaker > 0 {
		dst = strconv.AppendFloat(append(dst, '~'), d.TieBreaker, 'f', -1, 64)
	}
	return appendBoost(dst, d.Boost)
}

func (b *Boosting) append(dst []byte) []byte {
	dst = append(appendOperand(append(dst, '('), b.Positive), " / "...)
	dst = strconv.AppendFloat(append(appendOperand(dst, b.Negative), ")^"...), b.NegativeBoost, 'f', -1, 64)
	return appendBoost(dst, b.Boost)
}
