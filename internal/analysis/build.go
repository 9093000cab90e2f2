package analysis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// builder makes analyzers of definitions.
type builder struct {
	definitions definitions
	files       ReadFile
}

func (b *builder) parameters(kind, name string, values definition) *parameters {
	return &parameters{kind: kind, name: name, values: values, files: b.files}
}

// chainDefinition is an analyzer of type custom.
type chainDefinition struct {
	name        string
	tokenizer   json.RawMessage
	charFilters []json.RawMessage
	filters     []json.RawMessage
	noNormal    bool // without the normal form NFC
}

// blueprint makes analyzers that share their constant parts.
type blueprint struct {
	name        string
	charFilters []func() charFilter
	tokenizer   func() tokenizer
	standard    bool // the tokenizer is standard with default parameters
	filters     []filterMaker
	tables      []*synonymTable // by filter; nil of other filters
	make        func(use Use) Analyzer
}

func (b *blueprint) analyzer(use Use) Analyzer {
	if b.make != nil {
		return b.make(use)
	}
	if a := b.wordAnalyzer(use); a != nil {
		return a
	}
	c := &chain{name: b.name, tokenizer: b.tokenizer()}
	for _, f := range b.charFilters {
		c.charFilters = append(c.charFilters, f())
	}
	if b.cached() && b.caseless() {
		c.filters = append(c.filters, asciiMapper{}) // as the cache: other uses of the chain have it
	}
	c.filters = append(c.filters, b.makeFilters(use)...)
	return c
}

// cached reports whether a cache can keep the terms of words.
func (b *blueprint) cached() bool { return b.standard && len(b.charFilters) == 0 }

func (b *blueprint) makeFilters(use Use) []filter {
	var filters []filter
	for i, f := range b.filters {
		switch {
		case f.synonyms != nil && use != Documents:
			filters = append(filters, synonymFilter{b.tables[i]})
		case f.synonyms == nil && (!f.queriesOnly || use == Queries):
			filters = append(filters, f.make())
		}
	}
	return filters
}

// wordAnalyzer is a chain of UAX #29 words and filters of single words, whose terms a cache keeps. nil: the
// chain has other parts.
func (b *blueprint) wordAnalyzer(use Use) Analyzer {
	if !b.cached() {
		return nil
	}
	m := &mapperTerms{}
	for _, f := range b.makeFilters(use) {
		mapper, ok := f.(mapper)
		if !ok {
			return nil
		}
		m.mappers = append(m.mappers, mapper)
	}
	return newWordAnalyzer(b.name, b.caseless(), m)
}

// caseless reports whether the chain makes the same of words that differ in the case of A to Z.
func (b *blueprint) caseless() bool {
	for _, f := range b.filters {
		if !f.caseless || f.make == nil {
			return false
		}
		if _, ok := f.make().(lowerMapper); ok {
			return true
		}
	}
	return false
}

// asciiMapper makes A to Z lower case.
type asciiMapper struct{}

var (
	_ mapper      = asciiMapper{}
	_ startKeeper = asciiMapper{}
)

func (asciiMapper) keepsStart() bool { return true }

func (asciiMapper) mapTerm(w *word, m *memory) bool {
	if hasUpperASCII(w.term) {
		from := len(m.buffer)
		m.buffer = append(m.buffer, w.term...)
		w.term = m.grown(from)
		foldASCII(w.term)
	}
	return true
}

// mapperTerms is the part of a chain after the words.
type mapperTerms struct {
	mappers []mapper
	memory  memory
	word    word
}

var (
	_ termMaker   = (*mapperTerms)(nil)
	_ startKeeper = (*mapperTerms)(nil)
)

func (t *mapperTerms) keepsStart() bool {
	return !slices.ContainsFunc(t.mappers, func(m mapper) bool { return !keepsStart(m) })
}

func (t *mapperTerms) appendTerm(dst, term []byte) []byte {
	t.memory.buffer = t.memory.buffer[:0]
	t.word = word{term: term}
	for _, m := range t.mappers {
		if !m.mapTerm(&t.word, &t.memory) {
			return dst
		}
	}
	if len(t.word.term) > maxTermBytes {
		return dst
	}
	return append(dst, t.word.term...)
}

// chain checks a definition and makes its blueprint.
func (b *builder) chain(c *chainDefinition) (*blueprint, error) {
	made := &blueprint{name: c.name}
	if !c.noNormal {
		f := &formMapper{nfc}
		made.charFilters = append(made.charFilters, func() charFilter { return &normalizeFilter{form: nfc} })
		made.filters = append(made.filters, filterMaker{make: func() filter { return f }, caseless: true})
	}
	for _, raw := range c.charFilters {
		p, err := b.part("char_filter", c.name, raw, b.definitions.CharFilter)
		if err != nil {
			return nil, err
		}
		f := newCharFilter(p)
		if err := p.finish(); err != nil {
			return nil, err
		}
		made.charFilters = append(made.charFilters, f)
	}
	if len(c.tokenizer) == 0 {
		return nil, fmt.Errorf("analyzer [%s] has no [tokenizer]: %w", c.name, base.ErrBadInput)
	}
	p, err := b.part("tokenizer", c.name, c.tokenizer, b.definitions.Tokenizer)
	if err != nil {
		return nil, err
	}
	made.tokenizer = newTokenizer(p)
	if err := p.finish(); err != nil {
		return nil, err
	}
	t, ok := made.tokenizer().(*standardTokenizer)
	made.standard = ok && t.most == maxWordUnits
	// The words of the standard tokenizer do not depend on the form: their terms are brought to it, which a
	// cache does once a word.
	if !c.noNormal {
		if made.standard && len(c.charFilters) == 0 {
			made.charFilters = nil
		} else {
			made.filters = nil
		}
	}
	return made, b.addFilters(made, c.filters)
}

func (b *builder) addFilters(made *blueprint, filters []json.RawMessage) error {
	made.tables = make([]*synonymTable, len(made.filters), len(made.filters)+len(filters))
	for _, raw := range filters {
		p, err := b.part("filter", made.name, raw, b.definitions.Filter)
		if err != nil {
			return err
		}
		f := newFilter(p)
		if err := p.finish(); err != nil {
			return err
		}
		var table *synonymTable
		if f.synonyms != nil {
			before := *made
			if table, err = f.synonyms.compile(before.analyzer(Documents)); err != nil {
				return err
			}
		}
		made.filters = append(made.filters, f)
		made.tables = append(made.tables, table)
	}
	return nil
}

// part returns the parameters of a part: a name, of a defined one or a type, or a definition.
func (b *builder) part(kind, analyzer string, raw json.RawMessage, defined map[string]definition) (*parameters, error) {
	var values definition
	if json.Unmarshal(raw, &values) == nil && values != nil {
		if values["type"] == nil {
			return nil, fmt.Errorf("analyzer [%s]: a %s has no [type]: %w", analyzer, kind, base.ErrBadInput)
		}
		p := b.parameters(kind, strings.Trim(string(values["type"]), `"`), values)
		p.user = analyzer
		return p, nil
	}
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return nil, fmt.Errorf("analyzer [%s]: %s %.40s is not a name: %w", analyzer, kind, raw, base.ErrBadInput)
	}
	if d, ok := defined[name]; ok {
		return b.parameters(kind, name, d), nil
	}
	p := b.parameters(kind, name, nil)
	p.user = analyzer
	return p, nil
}

// analyzer makes the blueprint of a defined analyzer.
func (b *builder) analyzer(name string, d definition) (*blueprint, error) {
	p := b.parameters("analyzer", name, d)
	kind := p.text("type", "custom")
	if kind == "custom" {
		return b.custom(p)
	}
	standard := json.RawMessage(`"standard"`)
	c := chainDefinition{name: name, tokenizer: standard, noNormal: true}
	var stop []string
	switch kind {
	case "standard":
		if n := p.number("max_token_length", maxWordUnits, 1, maxWordUnits); n != maxWordUnits {
			c.tokenizer = json.RawMessage(fmt.Sprintf(`{"type": "standard", "max_token_length": %d}`, n))
		}
		p.embed("stopwords")
		stop = stopwords(p, "_none_")
	case "stop":
		c.tokenizer = json.RawMessage(`"lowercase"`)
		p.embed("stopwords")
		stop = stopwords(p, "_english_")
	case "pattern":
		return b.patternAnalyzer(p)
	case "english":
		if _, given := p.values["stopwords"]; given || p.values["stopwords_path"] != nil || p.values["stem_exclusion"] != nil {
			return b.englishAnalyzer(p)
		}
	}
	if c.name = name; kind == "standard" || kind == "stop" {
		c.filters = []json.RawMessage{json.RawMessage(`"lowercase"`), stopFilter(stop)}
		return b.finished(p, &c)
	}
	e := find(kind)
	if e == nil {
		p.fail("there is no analyzer of type [%s], there are [custom, pattern, %s]", kind, strings.Join(Names(), ", "))
		return nil, p.err
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	return &blueprint{name: name, make: func(use Use) Analyzer { return e.analyzer(name, use) }}, nil
}

func (b *builder) finished(p *parameters, c *chainDefinition) (*blueprint, error) {
	if err := p.finish(); err != nil {
		return nil, err
	}
	return b.chain(c)
}

func stopFilter(words []string) json.RawMessage {
	if words == nil {
		words = []string{"_none_"}
	}
	// A text in a list of texts always has a JSON form.
	list, _ := json.Marshal(words)
	return json.RawMessage(`{"type": "stop", "stopwords": ` + string(list) + `}`)
}

func (b *builder) custom(p *parameters) (*blueprint, error) {
	c := chainDefinition{name: p.name}
	c.tokenizer, _ = p.raw("tokenizer")
	c.charFilters = p.names("char_filter")
	c.filters = p.names("filter")
	p.number("position_increment_gap", 64, 64, 64)
	c.noNormal = p.choice("normalization", "nfc", "none") == "none"
	return b.finished(p, &c)
}

// names is a list of names, or one.
func (p *parameters) names(key string) []json.RawMessage {
	raw, ok := p.raw(key)
	if !ok {
		return nil
	}
	if len(raw) > 0 && raw[0] != '[' {
		return []json.RawMessage{raw}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		p.fail("parameter [%s] is %.40s, want a list of names", key, raw)
	}
	return list
}

// patternAnalyzer cuts at matches of a pattern.
func (b *builder) patternAnalyzer(p *parameters) (*blueprint, error) {
	tokenizer := definition{"type": json.RawMessage(`"pattern"`)}
	for _, key := range []string{"pattern", "flags"} {
		if raw, ok := p.raw(key); ok {
			tokenizer[key] = raw
		}
	}
	raw, err := json.Marshal(tokenizer)
	if err != nil {
		return nil, err
	}
	c := chainDefinition{name: p.name, tokenizer: raw, noNormal: true}
	if p.boolean("lowercase", true) {
		c.filters = append(c.filters, json.RawMessage(`"lowercase"`))
	}
	p.embed("stopwords")
	c.filters = append(c.filters, stopFilter(stopwords(p, "_none_")))
	return b.finished(p, &c)
}

// englishAnalyzer is the chain of english with other stop words, or words that are not stemmed.
func (b *builder) englishAnalyzer(p *parameters) (*blueprint, error) {
	p.embed("stopwords")
	stop := stopwords(p, "_english_")
	c := chainDefinition{name: p.name, tokenizer: json.RawMessage(`"standard"`), noNormal: true}
	c.filters = []json.RawMessage{json.RawMessage(`"possessive_english"`), json.RawMessage(`"lowercase"`), stopFilter(stop)}
	if excluded, given := p.list("stem_exclusion"); given {
		list, err := json.Marshal(slices.Clip(excluded))
		if err != nil {
			return nil, err
		}
		c.filters = append(c.filters, json.RawMessage(`{"type": "keyword_marker", "keywords": `+string(list)+`}`))
	}
	c.filters = append(c.filters, json.RawMessage(`"porter_stem"`))
	return b.finished(p, &c)
}
