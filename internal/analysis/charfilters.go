package analysis

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/griffin-search/griffin/internal/base"
)

// edit builds a changed text with its replacements.
type edit struct {
	out    []byte
	places replacements
}

func (e *edit) reset() { e.out, e.places = e.out[:0], e.places[:0] }

// replace appends out in the place of text[in:in+inLen].
func (e *edit) replace(in, inLen int, out []byte) {
	e.places = append(e.places, replaced{out: len(e.out), outLen: len(out), in: in, inLen: inLen})
	e.out = append(e.out, out...)
}

func newCharFilter(p *parameters) func() charFilter {
	switch kind := p.text("type", p.name); kind {
	case "html_strip":
		escaped, _ := p.list("escaped_tags")
		for i := range escaped {
			escaped[i] = strings.ToLower(escaped[i])
		}
		return func() charFilter { return &htmlStrip{escaped: escaped} }
	case "mapping":
		p.embed("mappings")
		rules := mappingRules(p)
		return func() charFilter { return &mappingFilter{rules: rules} }
	case "pattern_replace":
		r := newPatternReplace(p)
		return func() charFilter { return &patternReplace{patternRule: r} }
	case "icu_normalizer":
		form := normalForm(p)
		return func() charFilter { return &normalizeFilter{form: form} }
	default:
		p.fail("there is no char filter of type [%s], there are [html_strip, icu_normalizer, mapping, pattern_replace]", kind)
		return nil
	}
}

// mappingFilter replaces texts, at each place the longest.
type mappingFilter struct {
	rules *mappings
	edit  edit
}

// mappings has rules by their first byte, longest first.
type mappings [256][]mappingRule

type mappingRule struct{ from, to []byte }

func (f *mappingFilter) filter(text []byte) ([]byte, replacements) {
	f.edit.reset()
	copied := 0
scan:
	for i := 0; i < len(text); {
		for _, r := range f.rules[text[i]] {
			if bytes.HasPrefix(text[i:], r.from) {
				f.edit.out = append(f.edit.out, text[copied:i]...)
				f.edit.replace(i, len(r.from), r.to)
				i += len(r.from)
				copied = i
				continue scan
			}
		}
		i++
	}
	if copied == 0 {
		return text, nil
	}
	f.edit.out = append(f.edit.out, text[copied:]...)
	return f.edit.out, f.edit.places
}

func mappingRules(p *parameters) *mappings {
	lines, given := p.lines("mappings")
	if !given {
		p.fail("parameter [mappings] is missing")
	}
	rules, seen := new(mappings), map[string]bool{}
	for _, line := range lines {
		from, to, ok := strings.Cut(line, "=>")
		from, ok1 := unescape(strings.TrimSpace(from))
		to, ok2 := unescape(strings.TrimSpace(to))
		switch {
		case !ok || !ok1 || !ok2 || from == "":
			p.fail("mapping [%s] is not like [a => b]", line)
			return nil
		case seen[from]:
			p.fail("[%s] is mapped twice", from)
			return nil
		}
		seen[from] = true
		rules[from[0]] = append(rules[from[0]], mappingRule{[]byte(from), []byte(to)})
	}
	for _, r := range rules {
		base.Sort(r, func(a, b mappingRule) int { return len(b.from) - len(a.from) })
	}
	return rules
}

// unescape resolves \n, \t, \r, \b, \f, \uXXXX and \ before any other character.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, utf8.ValidString(s)
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		if j := strings.IndexByte("ntrbf", s[i]); j >= 0 {
			b.WriteByte("\n\t\r\b\f"[j])
			continue
		}
		if s[i] != 'u' {
			b.WriteByte(s[i])
			continue
		}
		if i+5 > len(s) {
			return "", false
		}
		r, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
		if err != nil {
			return "", false
		}
		b.WriteRune(rune(r))
		i += 4
	}
	return b.String(), utf8.ValidString(b.String())
}

// normalizeFilter brings a text to a normal form of Unicode.
type normalizeFilter struct {
	form form
	edit edit
}

func (f *normalizeFilter) filter(text []byte) ([]byte, replacements) {
	if f.form.isNormal(text) {
		return text, nil
	}
	f.edit.reset()
	for i := 0; i < len(text); {
		if n := asciiRun(text[i:], f.form.fold); n > 0 {
			f.edit.out = append(f.edit.out, text[i:i+n]...)
			i += n
			continue
		}
		// Characters up to the next one that does not join them.
		n := max(norm.NFKC.NextBoundary(text[i:], true /* atEOF */), 1)
		segment := text[i : i+n]
		from := len(f.edit.out)
		f.edit.out = f.form.append(f.edit.out, segment)
		if changed := f.edit.out[from:]; !bytes.Equal(changed, segment) {
			f.edit.places = append(f.edit.places, replaced{out: from, outLen: len(changed), in: i, inLen: n})
		}
		i += n
	}
	return f.edit.out, f.edit.places
}

// asciiRun counts ASCII characters, without upper case if fold is set, that no mark follows.
func asciiRun(text []byte, fold bool) int {
	n := 0
	for n < len(text) && text[n] < utf8.RuneSelf && (!fold || text[n] < 'A' || text[n] > 'Z') {
		n++
	}
	if n > 0 && n < len(text) && text[n] >= utf8.RuneSelf {
		n-- // a mark joins it
	}
	return n
}
