package analysis

import (
	"slices"
	"strings"

	"github.com/blevesearch/snowballstem"
)

// wordSet is a set of words, looked up in lower case if fold is set.
type wordSet struct {
	words map[string]bool
	fold  bool
	lower []byte
}

func newWordSet(list []string, fold bool) wordSet {
	s := wordSet{words: make(map[string]bool, len(list)), fold: fold}
	for _, w := range list {
		if fold {
			w = string(appendLower(nil, []byte(w)))
		}
		s.words[w] = true
	}
	return s
}

func (s *wordSet) has(term []byte) bool {
	if s.fold {
		s.lower = appendLower(s.lower[:0], term)
		term = s.lower
	}
	return s.words[string(term)]
}

// stopMapper drops words. Their positions stay as gaps.
type stopMapper struct{ set wordSet }

var (
	_ mapper      = (*stopMapper)(nil)
	_ startKeeper = (*stopMapper)(nil)
)

func (f *stopMapper) keepsStart() bool { return true }

func (f *stopMapper) mapTerm(w *word, _ *memory) bool { return !f.set.has(w.term) }

func newStop(p *parameters) filterMaker {
	p.embed("stopwords")
	list := stopwords(p, "_english_")
	fold := p.boolean("ignore_case", false)
	p.boolean("remove_trailing", true) // of completion queries only
	return filterMaker{
		make: func() filter { return &stopMapper{newWordSet(list, fold)} }, caseless: fold,
		queriesOnly: p.boolean("queries_only", false),
	}
}

// stopwords is the parameter of that name: words, or the name of a list.
func stopwords(p *parameters, missing string) []string {
	list, given := p.list("stopwords")
	if !given {
		list = []string{missing}
	}
	var all []string
	for _, w := range list {
		switch {
		case w == "_none_":
		case w == "_english_":
			all = append(all, sortedKeys(englishStopWords)...)
		case len(w) > 2 && w[0] == '_' && w[len(w)-1] == '_':
			p.fail("parameter [stopwords] names the list [%s], there are [_english_, _none_]: give the words", w)
		default:
			all = append(all, w)
		}
	}
	return all
}

// markMapper marks words that stemmers leave.
type markMapper struct{ set wordSet }

var (
	_ mapper      = (*markMapper)(nil)
	_ startKeeper = (*markMapper)(nil)
)

func (f *markMapper) keepsStart() bool { return true }

func (f *markMapper) mapTerm(w *word, _ *memory) bool {
	w.keyword = w.keyword || f.set.has(w.term)
	return true
}

func newKeywordMarker(p *parameters) filterMaker {
	p.embed("keywords")
	list, given := p.lines("keywords")
	if !given {
		p.fail("parameter [keywords] is missing")
	}
	fold := p.boolean("ignore_case", false)
	return filterMaker{make: func() filter { return &markMapper{newWordSet(list, fold)} }, caseless: fold}
}

// stemMapper is a stemmer.
type stemMapper struct {
	stem  func(dst, word []byte) []byte
	keeps bool // the starts of words
}

var (
	_ mapper      = (*stemMapper)(nil)
	_ startKeeper = (*stemMapper)(nil)
)

func (f *stemMapper) keepsStart() bool { return f.keeps }

func (f *stemMapper) mapTerm(w *word, m *memory) bool {
	if !w.keyword {
		from := len(m.buffer)
		m.buffer = f.stem(m.buffer, w.term)
		w.term = m.grown(from)
	}
	return true
}

// possessiveMapper removes 's.
type possessiveMapper struct{}

var (
	_ mapper      = possessiveMapper{}
	_ startKeeper = possessiveMapper{}
)

func (possessiveMapper) keepsStart() bool { return true }

func (possessiveMapper) mapTerm(w *word, _ *memory) bool {
	w.term = trimPossessive(w.term)
	return true
}

func stemmer(language string) filterMaker {
	switch language {
	case "english", "porter":
		return filterMaker{make: func() filter { return &stemMapper{stem: appendPorterStem, keeps: true} }}
	case "possessive_english":
		return filterMaker{make: func() filter { return possessiveMapper{} }, caseless: true}
	case "porter2":
		return snowball(stemEnglish)
	}
	for _, l := range languages {
		if l.name == language {
			return snowball(l.stem)
		}
	}
	return filterMaker{}
}

func snowball(stem func(*snowballstem.Env) bool) filterMaker {
	return fresh(func() filter { return &stemMapper{stem: newSnowballStemmer(stem).appendStem} })
}

// stemmerNames are the languages of stemmer, sorted.
func stemmerNames() []string {
	names := []string{"english", "porter", "porter2", "possessive_english"}
	for _, l := range languages {
		names = append(names, l.name)
	}
	slices.Sort(names)
	return names
}

func newStemmer(p *parameters) filterMaker {
	language := p.text("language", p.text("name", "porter"))
	f := stemmer(language)
	if f.make == nil {
		p.fail("there is no stemmer [%s], there are [%s]", language, strings.Join(stemmerNames(), ", "))
	}
	return f
}

// newSnowball has the names of Snowball's programs, in which English is Porter 2.
func newSnowball(p *parameters) filterMaker {
	language := strings.ToLower(p.text("language", "English"))
	if language == "english" {
		return snowball(stemEnglish)
	}
	f := stemmer(language)
	if f.make == nil || language == "porter2" || language == "possessive_english" {
		p.fail("there is no Snowball stemmer [%s], there are [English, Porter, %s]", language, strings.Join(snowballNames(), ", "))
	}
	return f
}

func snowballNames() []string {
	names := make([]string, len(languages))
	for i, l := range languages {
		names[i] = strings.ToUpper(l.name[:1]) + l.name[1:]
	}
	return names
}
