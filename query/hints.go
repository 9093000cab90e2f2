package query

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/suggest"
)

// Hints returns at most MaxRemarks remarks about parts that look like missing fields or other
// engines' operators, which Griffin searches as words: unknown names before colons, NEAR, &&, || and
// !. A backslash before the character removes the remark. Hints takes no memory without such
// characters.
func Hints(text string, fields []string) []string { return hints(text, fields, false) }

// StrictHints is Hints for texts in which nothing may be ignored, such as filters and the choice of documents to delete. An
// unknown name before a colon and a blank is a missing field, too: in "note: tents", Hints takes it for usual text.
func StrictHints(text string, fields []string) []string { return hints(text, fields, true) }

func hints(text string, fields []string, strict bool) []string {
	if len(text) > MaxBytes || !mayHint(text) {
		return nil
	}
	h := hinter{fields: fields, strict: strict}
	for rest := text; rest != ""; {
		switch size := spaceAt(rest); {
		case size > 0:
			rest = rest[size:]
			continue
		case rest[0] == '"':
			_, size := unquote(rest)
			rest = rest[max(size, 1):]
			continue
		case rest[0] == '(' || rest[0] == ')':
			rest = rest[1:]
			continue
		}
		end := h.regexp(rest)
		if end == 0 {
			end = wordEnd(rest)
			h.word(rest[:end], rest[end:])
		}
		rest = rest[end:]
	}
	return h.hints
}

// mayHint reports whether a text has a character of an operator, or NEAR.
func mayHint(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case ':', '&', '|', '!':
			return true
		case 'N':
			if strings.HasPrefix(text[i:], "NEAR") {
				return true
			}
		}
	}
	return false
}

// regexp returns the length of a regular expression at the start of text, after a known field or not, or 0.
func (h *hinter) regexp(text string) int {
	p := parser{text: text}
	if i := strings.IndexByte(text, '/'); i > 0 && text[i-1] == ':' && slices.Contains(h.fields, text[:i-1]) {
		p.pos = i
	}
	if text[p.pos] == '/' && p.regexp() != nil {
		return p.pos
	}
	return 0
}

// Before a blank, quote or parenthesis that is not escaped.
func wordEnd(text string) int {
	for i := 0; i < len(text); {
		switch {
		case text[i] == '\\' && i+1 < len(text) && escapable(text[i+1:]) > 0:
			i += 1 + escapable(text[i+1:])
			continue
		case strings.IndexByte(`()"`, text[i]) >= 0 || spaceAt(text[i:]) > 0:
			return i
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return len(text)
}

type hinter struct {
	fields []string
	strict bool
	hints  []string
}

func (h *hinter) add(format string, args ...any) {
	hint := fmt.Sprintf(format, args...)
	if len(h.hints) < MaxRemarks && !slices.Contains(h.hints, hint) {
		h.hints = append(h.hints, hint)
	}
}

func (h *hinter) word(word, next string) {
	switch {
	case word == "NEAR" || strings.HasPrefix(word, "NEAR/"):
		h.add(`no operator NEAR: it is searched as a word (use a phrase with a distance, such as "a b"~5, or quote the word)`)
		return
	case strings.HasPrefix(word, "&&"):
		h.add(`no operator "&&": write AND`)
		return
	case strings.HasPrefix(word, "||"):
		h.add(`no operator "||": write OR`)
		return
	}
	sign := word[:len(word)-len(strings.TrimLeft(word, "+-"))]
	if h.exclusion(sign, word[len(sign):], next) {
		return
	}
	word = strings.TrimLeft(word, "+-")
	if h.pattern(word) {
		return
	}
	name, value, ok := cutField(word, next)
	switch {
	case ok && name != existsName && name != idName && !slices.Contains(h.fields, name):
		h.unknownField(name, name+":"+value)
	case ok:
		h.exclusion(name+":", value, next)
	case h.strict && name != "" && word == name+":" && name != existsName && name != idName && !slices.Contains(h.fields, name):
		h.unknownField(name, word)
	case name != "" && value == "" && (name == existsName || name == idName || slices.Contains(h.fields, name)):
		h.add(`nothing follows "%s:": write the value directly after it, or %[1]s\: for the text`, name)
	}
}

// exclusion adds a hint about ! at the start of a word, after a sign or a field. Other marks alone are text, such as !!!.
func (h *hinter) exclusion(before, word, next string) bool {
	marks := len(word) - len(strings.TrimLeft(word, "!"))
	group := len(word) == marks && next != "" && (next[0] == '"' || next[0] == '(')
	if marks == 0 || len(word) == marks && !group {
		return false
	}
	h.add(`no operator "!": write -%s%s to exclude, or %[3]s\%[4]s for the text`, strings.Trim(before, "+-"), word[marks:], before, word)
	return true
}

// pattern adds a hint about a pattern of names of fields, such as book.*:word and book.\*:word.
func (h *hinter) pattern(word string) bool {
	name, value, ok := strings.Cut(word, ":")
	plain := strings.ReplaceAll(strings.ReplaceAll(name, `\*`, ""), "*", "")
	if !ok || len(plain) == len(name) || plain != "" && !isName(plain) || name == "*" && (value == "*" || strings.HasPrefix(value, "*^")) {
		return false
	}
	h.add(`no pattern of fields %q: write the name of a field, or search without one in several fields`, name)
	return true
}

func (h *hinter) unknownField(name, word string) {
	known := slices.DeleteFunc(slices.Clone(h.fields), func(f string) bool { return f == "" })
	hint := fmt.Sprintf("no field %q; ", name)
	if len(known) == 0 {
		hint += "the index has no fields to search in"
	} else {
		hint += "fields: " + strings.Join(known, ", ")
	}
	if closest := suggest.Closest(name, known); closest != "" {
		hint += fmt.Sprintf("; did you mean %s:?", closest)
	}
	h.add(`%s (%q is searched as words; write %s\:%s for the text)`, hint, word, name, word[len(name)+1:])
}

// cutField splits a word at the colon after a name, unless it is usual text: after a number,
// before a blank, in "http://", "a::b" and "C:\". next is the text after the word.
func cutField(word, next string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(word, ":")
	if !ok || !isName(name) {
		return "", "", false
	}
	switch {
	case value == "":
		ok = next != "" && (next[0] == '"' || next[0] == '(')
	case strings.HasPrefix(value, "//") || value[0] == ':' || value[0] == '\\':
		ok = false
	}
	return name, value, ok
}

func isName(s string) bool {
	for i, r := range s {
		if !unicode.IsLetter(r) && r != '_' && (i == 0 || !unicode.IsDigit(r) && r != '.' && r != '-') {
			return false
		}
	}
	return s != ""
}
