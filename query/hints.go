package query

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/suggest"
)

// Hints returns remarks about the parts of a query that look like fields or
// operators that do not exist: a name before a colon that is not one of fields,
// wildcards, ranges, regular expressions and the like of other search engines.
// Griffin searches for the words in such parts. A backslash before the character
// removes the remark. Hints returns at most MaxRemarks remarks, and takes no
// memory for a query without any of the characters in question.
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

// hintMarks are the characters of which every hint but NEAR has one.
const hintMarks = ":*?~/[{&|!"

// wordEnd returns the end of the word that text starts with: a blank, quote or
// parenthesis that is not escaped.
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

// hinter collects the hints of one query.
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

// word looks at one word as it is written. next is the text after it.
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

// operator looks at a word without its field. named reports whether it had one.
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

// unknownField adds the hint about a name before a colon.
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

// cutField splits a word at the colon after a name. It is false for a colon that
// is a part of usual text: after a number, before a blank, in "http://", "a::b"
// and "C:\". next is the text after the word.
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

// isName reports whether s can be the name of a field.
func isName(s string) bool {
	for i, r := range s {
		if !unicode.IsLetter(r) && r != '_' && (i == 0 || !unicode.IsDigit(r) && r != '.' && r != '-') {
			return false
		}
	}
	return s != ""
}

// wildcardAt returns the place of a wildcard in a word, -1 for none: an asterisk
// beside a letter, or a question mark before one. A question mark at the end of a
// word ends a question, and one after a slash is a part of an address.
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

// fuzzyAt returns the place of a tilde that ends a word, or that a number follows
// to the end; -1 for none.
func fuzzyAt(word string) int {
	i := len(strings.TrimRight(word, "0123456789.")) - 1
	if i < 1 || word[i] != '~' || word[i-1] == '\\' || word[i-1] == '~' {
		return -1
	}
	return i
}
