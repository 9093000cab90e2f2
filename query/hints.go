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
// engines' operators, which Griffin searches as words: unknown names before colons, wildcards,
// ranges, regular expressions. A backslash before the character removes the remark. Hints takes
// no memory without such characters.
func Hints(text string, fields []string) []string {
	if len(text) > MaxBytes || !strings.ContainsAny(text, hintMarks) && !strings.Contains(text, "NEAR") {
		return nil
	}
	h := hinter{text: text, fields: fields}
	for rest, afterPhrase := text, false; rest != ""; {
		switch size := spaceAt(rest); {
		case size > 0:
			rest, afterPhrase = rest[size:], false
			continue
		case rest[0] == '"':
			if _, size := unquote(rest); size > 0 {
				rest, afterPhrase = rest[size:], true
				continue
			}
			rest = rest[1:]
			continue
		case rest[0] == '(' || rest[0] == ')':
			rest, afterPhrase = rest[1:], false
			continue
		}
		end := wordEnd(rest)
		h.word(rest[:end], rest[end:], afterPhrase)
		rest, afterPhrase = rest[end:], false
	}
	return h.hints
}

// Every hint but NEAR has one.
const hintMarks = ":*?~/[{&|!"

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
	text   string
	fields []string
	hints  []string
}

func (h *hinter) add(format string, args ...any) {
	hint := fmt.Sprintf(format, args...)
	if len(h.hints) < MaxRemarks && !slices.Contains(h.hints, hint) {
		h.hints = append(h.hints, hint)
	}
}

func (h *hinter) word(word, next string, afterPhrase bool) {
	switch {
	case afterPhrase && word[0] == '~':
		h.add(`no operator "~" for words near one another: the phrase is searched as it is`)
		return
	case word == "NEAR" || strings.HasPrefix(word, "NEAR/"):
		h.add(`no operator NEAR: it is searched as a word (use a "phrase", or quote the word)`)
		return
	case word == "&&" || word == "||":
		h.add(`no operator %q: write %s`, word, map[string]string{"&&": "AND", "||": "OR"}[word])
		return
	case word[0] == '!' && len(word) > 1 && word[1] != '!':
		h.add(`no operator "!": write -%s to exclude, or \!%[1]s for the text`, word[1:])
		return
	case word == "*:*" || word == "*" && strings.TrimSpace(h.text) == word:
		h.add(`no operator %q: a query needs a word, and cannot match every document`, word)
		return
	}
	word = strings.TrimLeft(word, "+-")
	name, value, ok := cutField(word, next)
	if ok && !slices.Contains(h.fields, name) {
		h.unknownField(name, name+":"+value)
	}
	if ok {
		word = value
	}
	if word != "" {
		h.operator(word, ok)
	}
}

// word is without its field; named reports whether it had one.
func (h *hinter) operator(word string, named bool) {
	last := word[len(word)-1]
	switch {
	case named && (word[0] == '[' || word[0] == '{' || word[0] == '<' || word[0] == '>'):
		h.add(`no operator for ranges: %q is searched as words (write \%[1]s for the text)`, word)
	case len(word) > 2 && word[0] == '/' && last == '/' && strings.IndexByte(word[1:len(word)-1], '/') < 0:
		h.add(`no operator "/" for regular expressions: %q is searched as words (write \%[1]s for the text)`, word)
	default:
		if i := wildcardAt(word); i >= 0 {
			h.add(`no operator "%c" for parts of words: %q is searched as words (write %s\%s for the text)`, word[i], word, word[:i], word[i:])
		} else if i := fuzzyAt(word); i > 0 {
			h.add(`no operator "~" for similar words: %q is searched as words (write %s\%s for the text)`, word, word[:i], word[i:])
		}
	}
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

// wildcardAt returns the place of an asterisk beside a letter, or a question mark before one,
// or -1. A final question mark ends a question; one after a slash is in an address.
func wildcardAt(word string) int {
	for i := 0; i < len(word); i++ {
		switch word[i] {
		case '\\':
			i++
		case '*':
			before, _ := utf8.DecodeLastRuneInString(word[:i])
			after, _ := utf8.DecodeRuneInString(word[i+1:])
			if isWordRune(before) || isWordRune(after) {
				return i
			}
		case '?':
			if after, _ := utf8.DecodeRuneInString(word[i+1:]); isWordRune(after) && strings.IndexByte(word[:i], '/') < 0 {
				return i
			}
		}
	}
	return -1
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// fuzzyAt returns the place of a tilde at the end or before a final number, or -1.
func fuzzyAt(word string) int {
	i := len(strings.TrimRight(word, "0123456789.")) - 1
	if i < 1 || word[i] != '~' || word[i-1] == '\\' || word[i-1] == '~' {
		return -1
	}
	return i
}
