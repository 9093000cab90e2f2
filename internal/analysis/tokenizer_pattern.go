package analysis

import (
	"regexp"
	"strings"
)

// Patterns are regular expressions of Go's package regexp, which takes time that is linear in the
// text. Java's look-around and back references do not exist there.

// pattern reads a regular expression and Java's flags.
func pattern(p *parameters, missing string) *regexp.Regexp {
	text := p.text("pattern", missing)
	flags := ""
	for name := range strings.SplitSeq(p.text("flags", ""), "|") {
		switch strings.TrimSpace(name) {
		case "":
		case "CASE_INSENSITIVE":
			flags += "i"
		case "MULTILINE":
			flags += "m"
		case "DOTALL":
			flags += "s"
		case "UNICODE_CASE": // always
		case "LITERAL":
			text = regexp.QuoteMeta(text)
		default:
			p.fail("parameter [flags] has [%s], there are [CASE_INSENSITIVE, MULTILINE, DOTALL, UNICODE_CASE, LITERAL]", name)
		}
	}
	if flags != "" {
		flags = "(?" + flags + ")"
	}
	if text == "" {
		p.fail("parameter [pattern] is missing")
		return nil
	}
	compiled, err := regexp.Compile(flags + text)
	if err != nil {
		p.fail("parameter [pattern] is [%s]: %v", text, err)
		return nil
	}
	return compiled
}

// patternTokenizer cuts a text at matches of a pattern, or makes words of its matches.
type patternTokenizer struct {
	pattern *regexp.Regexp
	group   int // -1: matches separate words
}

var _ tokenizer = (*patternTokenizer)(nil)

func newPatternTokenizer(p *parameters) func() tokenizer {
	t := &patternTokenizer{pattern: pattern(p, `\W+`), group: p.number("group", -1, -1, 100)}
	if t.pattern != nil && t.group > t.pattern.NumSubexp() {
		p.fail("parameter [group] is %d, but the pattern has %d groups", t.group, t.pattern.NumSubexp())
	}
	return func() tokenizer { return t }
}

func (t *patternTokenizer) tokenize(dst []word, text []byte, _ *memory) []word {
	position, from := 0, 0
	add := func(start, end int) {
		if start < end {
			dst = append(dst, word{term: text[start:end:end], start: start, end: end, position: position, length: 1})
			position++
		}
	}
	eachMatch(t.pattern, text, func(at []int) {
		if t.group < 0 {
			add(from, at[0])
			from = at[1]
		} else if at[2*t.group] >= 0 {
			add(at[2*t.group], at[2*t.group+1])
		}
	})
	if t.group < 0 {
		add(from, len(text))
	}
	return dst
}

// eachMatch calls f with the offsets of all matches and their groups.
func eachMatch(p *regexp.Regexp, text []byte, f func(at []int)) {
	for _, at := range p.FindAllSubmatchIndex(text, -1) {
		f(at)
	}
}

// patternRule replaces matches.
type patternRule struct {
	pattern     *regexp.Regexp
	replacement []byte // of regexp.Expand
	all         bool
}

func newPatternReplace(p *parameters) patternRule {
	r := patternRule{pattern: pattern(p, ""), all: true}
	text := p.text("replacement", "")
	if r.pattern != nil {
		r.replacement = javaReplacement(p, text, r.pattern.NumSubexp())
	}
	return r
}

// javaReplacement changes $1 and \$ into Go's ${1} and $$.
func javaReplacement(p *parameters, text string, groups int) []byte {
	var out []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			if i++; text[i] == '$' {
				out = append(out, '$')
			}
			out = append(out, text[i])
		case c != '$':
			out = append(out, c)
		case i+1 < len(text) && '0' <= text[i+1] && text[i+1] <= '9':
			// As in Java, further digits belong to the number while there is such a group.
			n, j := int(text[i+1]-'0'), i+2
			for j < len(text) && '0' <= text[j] && text[j] <= '9' && 10*n+int(text[j]-'0') <= groups {
				n = 10*n + int(text[j]-'0')
				j++
			}
			if n > groups {
				p.fail("parameter [replacement] has $%d, but the pattern has %d groups", n, groups)
			}
			out = append(append(append(out, "${"...), text[i+1:j]...), '}')
			i = j - 1
		case i+1 < len(text) && text[i+1] == '{':
			out = append(out, '$')
		default:
			p.fail("parameter [replacement] is [%s]: want a number or {name} after $", text)
			return nil
		}
	}
	return out
}

// patternReplace is the char filter.
type patternReplace struct {
	patternRule
	edit edit
	made []byte
}

var _ charFilter = (*patternReplace)(nil)

func (f *patternReplace) filter(text []byte) ([]byte, replacements) {
	f.edit.reset()
	copied := 0
	eachMatch(f.pattern, text, func(at []int) {
		f.made = f.pattern.Expand(f.made[:0], f.replacement, text, at)
		f.edit.out = append(f.edit.out, text[copied:at[0]]...)
		f.edit.replace(at[0], at[1]-at[0], f.made)
		copied = at[1]
	})
	if len(f.edit.places) == 0 {
		return text, nil
	}
	f.edit.out = append(f.edit.out, text[copied:]...)
	return f.edit.out, f.edit.places
}

// patternMapper is the token filter.
type patternMapper struct{ patternRule }

var _ mapper = (*patternMapper)(nil)

func (f *patternMapper) mapTerm(w *word, m *memory) bool {
	from, copied := len(m.buffer), 0
	n := -1
	if !f.all {
		n = 1
	}
	matches := f.pattern.FindAllSubmatchIndex(w.term, n)
	if len(matches) == 0 {
		return true
	}
	for _, at := range matches {
		m.buffer = append(m.buffer, w.term[copied:at[0]]...)
		m.buffer = f.pattern.Expand(m.buffer, f.replacement, w.term, at)
		copied = at[1]
	}
	m.buffer = append(m.buffer, w.term[copied:]...)
	w.term = m.grown(from)
	return true
}
