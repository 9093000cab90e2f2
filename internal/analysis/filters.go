package analysis

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// filterMaker makes the filters of a definition.
type filterMaker struct {
	make func() filter
	// caseless: the result does not depend on the case of A to Z.
	caseless bool
	// queriesOnly is set for stop words that documents keep.
	queriesOnly bool
	// synonyms replace make: their filter depends on the ones before it.
	synonyms *synonymRules
}

// filterKinds are the types of filters. A type is also the name of a filter with default parameters,
// unless that lacks a parameter.
var filterKinds = map[string]func(p *parameters) filterMaker{}

func init() {
	filterKinds = map[string]func(p *parameters) filterMaker{
		"apostrophe":           func(*parameters) filterMaker { return mapping(&apostropheMapper{}) },
		"asciifolding":         newASCIIFolding,
		"cjk_bigram":           newBigrams,
		"cjk_width":            func(*parameters) filterMaker { return fresh(func() filter { return new(widthMapper) }) },
		"decimal_digit":        func(*parameters) filterMaker { return mapping(digitMapper{}) },
		"edge_ngram":           func(p *parameters) filterMaker { return newGramFilter(p, true /* edge */) },
		"elision":              newElision,
		"fingerprint":          newFingerprint,
		"flatten_graph":        func(*parameters) filterMaker { return fresh(func() filter { return flattener{} }) },
		"icu_folding":          func(*parameters) filterMaker { return fresh(func() filter { return &accentMapper{icu: true} }) },
		"icu_normalizer":       newNormalizer,
		"keep":                 newKeep,
		"keyword_marker":       newKeywordMarker,
		"keyword_repeat":       func(*parameters) filterMaker { return fresh(func() filter { return repeater{} }) },
		"length":               newLengths,
		"limit":                newLimit,
		"lowercase":            newLowercase,
		"ngram":                func(p *parameters) filterMaker { return newGramFilter(p, false /* edge */) },
		"pattern_replace":      newPatternMapper,
		"porter_stem":          func(*parameters) filterMaker { return stemmer("english") },
		"possessive_english":   func(*parameters) filterMaker { return stemmer("possessive_english") },
		"remove_duplicates":    func(*parameters) filterMaker { return fresh(func() filter { return &uniqueFilter{stacked: true} }) },
		"reverse":              func(*parameters) filterMaker { return mapping(reverseMapper{}) },
		"shingle":              newShingles,
		"snowball":             newSnowball,
		"stemmer":              newStemmer,
		"stemmer_override":     newStemmerOverride,
		"stop":                 newStop,
		"synonym":              newSynonyms,
		"synonym_graph":        newSynonyms,
		"trim":                 func(*parameters) filterMaker { return mapping(trimMapper{}) },
		"truncate":             newTruncate,
		"unique":               newUnique,
		"uppercase":            func(*parameters) filterMaker { return mapping(upperMapper{}) },
		"word_delimiter":       newDelimiter,
		"word_delimiter_graph": newDelimiter,
	}
}

// fresh makes a filter with memory of its own.
func fresh(f func() filter) filterMaker { return filterMaker{make: f} }

// mapping makes a filter without memory.
func mapping(f mapper) filterMaker { return filterMaker{make: func() filter { return f }} }

func newFilter(p *parameters) filterMaker {
	kind := p.text("type", p.name)
	if maker := filterKinds[kind]; maker != nil {
		return maker(p)
	}
	p.fail("there is no filter of type [%s], there are [%s]", kind, strings.Join(sortedKeys(filterKinds), ", "))
	return filterMaker{}
}

// lowerMapper is simple case mapping by character, with the rules of a language.
type lowerMapper struct{ special func(rune) rune }

var (
	_ mapper      = lowerMapper{}
	_ startKeeper = lowerMapper{}
)

func (f lowerMapper) keepsStart() bool { return f.special == nil }

func newLowercase(p *parameters) filterMaker {
	switch p.choice("language", "", "greek", "irish", "turkish") {
	case "greek":
		return mapping(lowerMapper{lowerGreek})
	case "turkish":
		return mapping(lowerMapper{unicode.TurkishCase.ToLower})
	case "irish":
		return mapping(irishMapper{})
	}
	return filterMaker{make: func() filter { return lowerMapper{} }, caseless: true}
}

func (f lowerMapper) mapTerm(w *word, m *memory) bool {
	from := len(m.buffer)
	if f.special == nil {
		if isASCII(w.term) && !hasUpperASCII(w.term) {
			return true
		}
		m.buffer = appendLower(m.buffer, w.term)
	} else {
		for _, r := range string(w.term) {
			m.buffer = utf8.AppendRune(m.buffer, f.special(r))
		}
	}
	w.term = m.grown(from)
	return true
}

// lowerGreek also removes accents, and makes ς a σ, as Lucene's GreekLowerCaseFilter.
func lowerGreek(r rune) rune {
	r = unicode.ToLower(r)
	switch r {
	case 'ς':
		return 'σ'
	case 'ά':
		return 'α'
	case 'έ':
		return 'ε'
	case 'ή':
		return 'η'
	case 'ί', 'ϊ', 'ΐ':
		return 'ι'
	case 'ύ', 'ϋ', 'ΰ':
		return 'υ'
	case 'ό':
		return 'ο'
	case 'ώ':
		return 'ω'
	}
	return r
}

// irishMapper is lower case where nAthair becomes n-athair and tSean t-sean.
type irishMapper struct{}

var _ mapper = irishMapper{}

func (irishMapper) mapTerm(w *word, m *memory) bool {
	from := len(m.buffer)
	term := w.term
	if r, _ := utf8.DecodeRune(term[min(1, len(term)):]); len(term) > 1 && (term[0] == 'n' || term[0] == 't') && strings.ContainsRune("AEIOUÁÉÍÓÚ", r) {
		m.buffer = append(m.buffer, term[0], '-')
		term = term[1:]
	}
	m.buffer = appendLower(m.buffer, term)
	w.term = m.grown(from)
	return true
}

type upperMapper struct{}

var _ mapper = upperMapper{}

func (upperMapper) mapTerm(w *word, m *memory) bool {
	from := len(m.buffer)
	for _, r := range string(w.term) {
		m.buffer = utf8.AppendRune(m.buffer, unicode.ToUpper(r))
	}
	w.term = m.grown(from)
	return true
}

// keeper keeps each word beside the term that a filter makes of it, if they differ.
type keeper struct {
	mapper  mapper
	changed word
}

var _ rewriter = (*keeper)(nil)

func (k *keeper) rewrite(dst, words []word, m *memory) []word {
	for _, w := range words {
		k.changed = w
		if k.mapper.mapTerm(&k.changed, m) && !bytes.Equal(k.changed.term, w.term) {
			dst = append(dst, k.changed)
		}
		dst = append(dst, w)
	}
	return dst
}

func newASCIIFolding(p *parameters) filterMaker {
	if p.boolean("preserve_original", false) {
		return fresh(func() filter { return &keeper{mapper: new(accentMapper)} })
	}
	return fresh(func() filter { return new(accentMapper) })
}

func newNormalizer(p *parameters) filterMaker {
	f := &formMapper{normalForm(p)}
	return filterMaker{make: func() filter { return f }, caseless: f.form.fold}
}

// widthMapper makes full-width letters ASCII, and half-width Katakana full-width.
type widthMapper struct{ scratch []byte }

var _ mapper = (*widthMapper)(nil)

func (f *widthMapper) mapTerm(w *word, m *memory) bool {
	if !bytes.ContainsFunc(w.term, isWidthVariant) {
		return true
	}
	from := len(m.buffer)
	for _, r := range string(w.term) {
		if isWidthVariant(r) {
			f.scratch = utf8.AppendRune(f.scratch[:0], r)
			m.buffer = norm.NFKD.Append(m.buffer, f.scratch...)
		} else {
			m.buffer = utf8.AppendRune(m.buffer, r)
		}
	}
	// A half-width voiced sound mark joins the letter before it.
	composed := norm.NFC.Bytes(m.grown(from))
	m.buffer = append(m.buffer[:from], composed...)
	w.term = m.grown(from)
	return true
}

func isWidthVariant(r rune) bool { return 0xff01 <= r && r <= 0xff5e || 0xff65 <= r && r <= 0xff9f }

type trimMapper struct{}

var _ mapper = trimMapper{}

func (trimMapper) mapTerm(w *word, _ *memory) bool {
	w.term = bytes.TrimSpace(w.term)
	return true
}

type reverseMapper struct{}

var _ mapper = reverseMapper{}

func (reverseMapper) mapTerm(w *word, m *memory) bool {
	from := len(m.buffer)
	for end := len(w.term); end > 0; {
		_, size := utf8.DecodeLastRune(w.term[:end])
		m.buffer = append(m.buffer, w.term[end-size:end]...)
		end -= size
	}
	w.term = m.grown(from)
	return true
}

// truncateMapper keeps the first characters.
type truncateMapper struct{ most int }

var _ mapper = truncateMapper{}

func newTruncate(p *parameters) filterMaker {
	return mapping(truncateMapper{p.number("length", 10, 1, maxTermBytes)})
}

func (f truncateMapper) mapTerm(w *word, _ *memory) bool {
	n := prefixOf(w.term, f.most)
	w.term = w.term[:n:n]
	return true
}

// lengthMapper keeps words of some length in characters.
type lengthMapper struct{ least, most int }

var _ mapper = lengthMapper{}

func newLengths(p *parameters) filterMaker {
	f := lengthMapper{p.number("min", 0, 0, math.MaxInt), p.number("max", math.MaxInt, 0, math.MaxInt)}
	if f.least > f.most {
		p.fail("[min] is %d, more than [max], %d", f.least, f.most)
	}
	return mapping(f)
}

func (f lengthMapper) mapTerm(w *word, _ *memory) bool {
	n := utf8.RuneCount(w.term)
	return f.least <= n && n <= f.most
}

func newPatternMapper(p *parameters) filterMaker {
	r := newPatternReplace(p)
	r.all = p.boolean("all", true)
	f := &patternMapper{r}
	return fresh(func() filter { return f })
}

// limitFilter keeps the first words.
type limitFilter struct{ most int }

var _ rewriter = limitFilter{}

func newLimit(p *parameters) filterMaker {
	f := limitFilter{p.number("max_token_count", 1, 1, math.MaxInt)}
	p.boolean("consume_all_tokens", false) // has no effect on the result
	return fresh(func() filter { return f })
}

func (f limitFilter) rewrite(dst, words []word, _ *memory) []word {
	return append(dst, words[:min(len(words), f.most)]...)
}

// uniqueFilter keeps the first word of each term: of the text, or of a position.
type uniqueFilter struct {
	stacked bool
	seen    map[string]struct{}
}

var _ rewriter = (*uniqueFilter)(nil)

func newUnique(p *parameters) filterMaker {
	stacked := p.boolean("only_on_same_position", false)
	return fresh(func() filter { return &uniqueFilter{stacked: stacked} })
}

func (f *uniqueFilter) rewrite(dst, words []word, _ *memory) []word {
	if f.seen == nil {
		f.seen = map[string]struct{}{}
	}
	clear(f.seen)
	for i, w := range words {
		if f.stacked && i > 0 && w.position != words[i-1].position {
			clear(f.seen)
		}
		if _, ok := f.seen[string(w.term)]; !ok {
			f.seen[string(w.term)] = struct{}{}
			dst = append(dst, w)
		}
	}
	return dst
}

// flattener makes each word take one position.
type flattener struct{}

var _ rewriter = flattener{}

func (flattener) rewrite(dst, words []word, _ *memory) []word {
	first := len(dst)
	dst = append(dst, words...)
	for i := range dst[first:] {
		dst[first+i].length = 1
	}
	return dst
}

// gramFilter makes n-grams of characters of each word, at its position.
type gramFilter struct {
	least, most int
	edge, keep  bool
	starts      []int
}

var _ rewriter = (*gramFilter)(nil)

func newGramFilter(p *parameters, edge bool) filterMaker {
	least, most := grams(p, edge)
	keep := p.boolean("preserve_original", false)
	if edge {
		p.choice("side", "front")
	}
	return fresh(func() filter { return &gramFilter{least: least, most: most, edge: edge, keep: keep} })
}

func (f *gramFilter) rewrite(dst, words []word, _ *memory) []word {
	for _, w := range words {
		f.starts = f.starts[:0]
		for i := 0; i < len(w.term); {
			f.starts = append(f.starts, i)
			_, size := utf8.DecodeRune(w.term[i:])
			i += size
		}
		runes := len(f.starts)
		f.starts = append(f.starts, len(w.term))
		for i := range runes {
			for n := f.least; n <= f.most && i+n <= runes; n++ {
				gram := w
				gram.term = w.term[f.starts[i]:f.starts[i+n]:f.starts[i+n]]
				dst = append(dst, gram)
			}
			if f.edge {
				break
			}
		}
		if f.keep && (runes < f.least || runes > f.most) {
			dst = append(dst, w)
		}
	}
	return dst
}

// elisionMapper removes articles before an apostrophe.
type elisionMapper struct {
	articles []string
	fold     bool
}

var _ mapper = (*elisionMapper)(nil)

func newElision(p *parameters) filterMaker {
	p.embed("articles")
	articles, given := p.lines("articles")
	if !given {
		articles = languages[slices.IndexFunc(languages, func(l language) bool { return l.name == "french" })].elided
	}
	f := &elisionMapper{articles: articles, fold: p.boolean("articles_case", false)}
	if !given {
		f.fold = true
	}
	return mapping(f)
}

func (f *elisionMapper) mapTerm(w *word, _ *memory) bool {
	i, size := indexApostrophe(w.term)
	if i <= 0 {
		return true
	}
	for _, a := range f.articles {
		if string(w.term[:i]) == a || f.fold && strings.EqualFold(string(w.term[:i]), a) {
			w.term = w.term[i+size:]
			break
		}
	}
	return true
}

// apostropheMapper removes an apostrophe and the text after it.
type apostropheMapper struct{}

var _ mapper = (*apostropheMapper)(nil)

func (*apostropheMapper) mapTerm(w *word, _ *memory) bool {
	if i, _ := indexApostrophe(w.term); i >= 0 {
		w.term = w.term[:i:i]
	}
	return true
}
