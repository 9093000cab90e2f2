package analysis

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// stemEnglish is the Snowball English stemmer, also called Porter 2.
var stemEnglish = english.Stem

// language is a chain of UAX #29 words, what the language needs before, lower
// case and its Snowball stemmer. No stop words are removed.
type language struct {
	name string
	stem func(*snowballstem.Env) bool
	// elided are the words that lose their vowel and join the next word with an
	// apostrophe; they are removed with it (l'avion → avion). The lists are
	// those of Lucene's analyzers.
	elided []string
	// turkic: I becomes ı and İ becomes i, and what follows an apostrophe (a
	// suffix of a proper name: İstanbul'da) is removed.
	turkic bool
}

var languages = []language{
	{name: "arabic", stem: arabic.Stem},
	{name: "danish", stem: danish.Stem},
	{name: "dutch", stem: dutch.Stem},
	{name: "finnish", stem: finnish.Stem},
	{name: "french", stem: french.Stem, elided: []string{
		"c", "d", "j", "jusqu", "l", "lorsqu", "m", "n", "puisqu", "qu", "quoiqu", "s", "t",
	}},
	{name: "german", stem: german.Stem},
	{name: "hungarian", stem: hungarian.Stem},
	{name: "irish", stem: irish.Stem, elided: []string{"b", "d", "m"}},
	{name: "italian", stem: italian.Stem, elided: []string{
		"agl", "all", "c", "coll", "d", "dagl", "dall", "degl", "dell", "gl", "l", "m",
		"negl", "nell", "pell", "s", "sugl", "sull", "t", "un", "v",
	}},
	{name: "norwegian", stem: norwegian.Stem},
	{name: "portuguese", stem: portuguese.Stem},
	{name: "romanian", stem: romanian.Stem},
	{name: "russian", stem: russian.Stem},
	{name: "spanish", stem: spanish.Stem},
	{name: "swedish", stem: swedish.Stem},
	{name: "tamil", stem: tamil.Stem},
	{name: "turkish", stem: turkish.Stem, turkic: true},
}

func (l *language) description() string {
	var b strings.Builder
	b.WriteString("UAX #29 words, ")
	switch {
	case l.elided != nil:
		fmt.Fprintf(&b, "elided words (%s') removed, lower case", strings.Join(l.elided, "', "))
	case l.turkic:
		b.WriteString("suffixes after an apostrophe removed, Turkish lower case")
	default:
		b.WriteString("lower case")
	}
	fmt.Fprintf(&b, ", Snowball %s stemmer; no stop words", l.name)
	return b.String()
}

func (l *language) newAnalyzer(name string) Analyzer {
	return newWordAnalyzer(name, !l.turkic, &languageTerms{language: l, stemmer: newSnowballStemmer(l.stem)})
}

// languageTerms makes the terms of a language.
type languageTerms struct {
	language *language
	stemmer  *snowballStemmer
	lower    []byte
}

var _ termMaker = (*languageTerms)(nil)

// appendTerm implements termMaker.
func (t *languageTerms) appendTerm(dst, word []byte) []byte {
	if t.language.turkic {
		if i, _ := indexApostrophe(word); i > 0 {
			word = word[:i]
		}
		t.lower = t.lower[:0]
		for _, r := range string(word) {
			t.lower = utf8.AppendRune(t.lower, unicode.TurkishCase.ToLower(r))
		}
		return t.stemmer.appendStem(dst, t.lower)
	}
	t.lower = appendLower(t.lower[:0], word)
	rest := t.lower
	if i, size := indexApostrophe(rest); i > 0 && i+size < len(rest) {
		for _, e := range t.language.elided {
			if string(rest[:i]) == e {
				rest = rest[i+size:]
				break
			}
		}
	}
	return t.stemmer.appendStem(dst, rest)
}

// indexApostrophe returns the place and the size of the first apostrophe (' or
// ’) of word, or -1.
func indexApostrophe(word []byte) (i, size int) {
	const typographic = "’"
	if i := bytes.IndexByte(word, '\''); i >= 0 {
		if j := bytes.Index(word[:i], []byte(typographic)); j >= 0 {
			return j, len(typographic)
		}
		return i, 1
	}
	return bytes.Index(word, []byte(typographic)), len(typographic)
}

// snowballStemmer runs one of the programs that the Snowball compiler generated.
type snowballStemmer struct {
	stem func(*snowballstem.Env) bool
	env  *snowballstem.Env
}

func newSnowballStemmer(stem func(*snowballstem.Env) bool) *snowballStemmer {
	return &snowballStemmer{stem: stem, env: snowballstem.NewEnv("")}
}

// appendStem appends the stem of word, which must be in lower case, or word
// where the program leaves nothing. It allocates: the programs work on strings.
func (s *snowballStemmer) appendStem(dst, word []byte) []byte {
	s.env.SetCurrent(string(word))
	s.stem(s.env)
	if stem := s.env.Current(); stem != "" && utf8.ValidString(stem) {
		return append(dst, stem...)
	}
	return append(dst, word...)
}
