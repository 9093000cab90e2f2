package inverter

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/corpus"
)

// MaxTitleWeight bounds Schema.TitleWeight.
const MaxTitleWeight = 100

// addTitle adds the title, or the name of the file, to the default field, once for each unit of its weight: BM25F
// with a weight for the title. It returns the position after it.
func (v *inverter) addTitle(doc uint32, tokens []analysis.Token, numbers []uint32, next uint32) uint32 {
	for range max(1, v.schema.TitleWeight) {
		v.fields[0].addNumbered(doc, tokens, numbers, next)
		if n := len(tokens); n > 0 {
			next += tokens[n-1].Position + 1 + positionGap
		}
	}
	return next
}

// name returns the words of the file's name: the last value of NameField.
func (s *Schema) name(d *corpus.Document) string {
	if s.NameField == "" {
		return ""
	}
	for i := len(d.Extra) - 1; i >= 0; i-- {
		if d.Extra[i].Name == s.NameField {
			return nameWords(d.Extra[i].Value)
		}
	}
	return ""
}

// nameWords returns the name of a file without its extension, in words, and in smaller words if it has some:
// "src/HashMap_test.go" is "HashMap test Hash Map test".
func nameWords(file string) string {
	name := path.Base(file)
	if extension := path.Ext(name); len(extension) < len(name) { // else ".profile"
		name = strings.TrimSuffix(name, extension)
	}
	words := strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return r
		}
		return ' '
	}, name))
	whole := strings.Join(words, " ")
	for i, word := range words {
		words[i] = splitCamel(word)
	}
	if parts := strings.Join(words, " "); parts != whole {
		whole += " " + parts
	}
	return whole
}

// splitCamel puts a space before an upper case letter that follows another kind of letter, or that a lower case letter
// follows: "HTTPServer" is "HTTP Server".
func splitCamel(word string) string {
	var out strings.Builder
	var before rune
	for i, r := range word {
		after, _ := utf8.DecodeRuneInString(word[i+utf8.RuneLen(r):])
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(before) || unicode.IsLower(after)) {
			out.WriteByte(' ')
		}
		out.WriteRune(r)
		before = r
	}
	return out.String()
}
