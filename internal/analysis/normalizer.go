package analysis

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// NormalizerPrefix begins the name of an analyzer that makes one term of a text by a normalizer. Names in settings and requests
// are UTF-8, so none of them begins with it.
const NormalizerPrefix = "\xffnormalizer "

// lowercaseNormalizer is defined without settings, as in OpenSearch.
const lowercaseNormalizer = "lowercase"

// normalizing are the filters and character filters that a normalizer can have: none of them cuts or drops words.
var normalizing = map[string][]string{
	"filter":      {"asciifolding", "cjk_width", "decimal_digit", "elision", "icu_folding", "icu_normalizer", "lowercase", "trim", "uppercase"},
	"char_filter": {"icu_normalizer", "mapping", "pattern_replace"},
}

// Normalizer changes keywords before they are indexed, and keywords of queries. It belongs to one goroutine.
type Normalizer struct {
	charFilters []charFilter
	mappers     []mapper
	text        []byte
	memory      memory
}

// Normalizer returns a new normalizer of a name. The error wraps base.ErrBadInput.
func (s *Settings) Normalizer(name string) (*Normalizer, error) {
	b := s.normalizer(name)
	if b == nil {
		return nil, fmt.Errorf("%w: no normalizer is named %q (there are: %s)", base.ErrBadInput, name, strings.Join(s.NormalizerNames(), ", "))
	}
	n := &Normalizer{}
	for _, f := range b.charFilters {
		n.charFilters = append(n.charFilters, f())
	}
	for _, f := range b.makeFilters(Documents) {
		n.mappers = append(n.mappers, f.(mapper)) // checked by normalizer of the builder
	}
	return n, nil
}

// NormalizerNames returns the names of all normalizers, sorted.
func (s *Settings) NormalizerNames() []string {
	names := []string{lowercaseNormalizer}
	if s != nil {
		names = append(names, slices.Collect(maps.Keys(s.normalizers))...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Normalize returns the normal form of a keyword, valid until the next call. Bytes that are not UTF-8 become blanks.
func (n *Normalizer) Normalize(value []byte) []byte {
	n.memory.buffer = n.memory.buffer[:0]
	n.text = appendValid(n.text[:0], value)
	w := word{term: n.text}
	for _, f := range n.charFilters {
		w.term, _ = f.filter(w.term)
	}
	for _, m := range n.mappers {
		m.mapTerm(&w, &n.memory)
	}
	return w.term
}

// maxGrowth bounds the bytes of the normal form of a byte. A mapping or a replacement has no bound.
const maxGrowth = 32

// NormalLength returns the length of the normal form of a keyword if it is above most, else any number up to most. It is safe for
// concurrent use, and fast for short keywords unless there are character filters. The error is as of Normalizer.
func (s *Settings) NormalLength(name, value string, most int) (int, error) {
	if len(value) <= most/maxGrowth && (!s.definesNormalizer(name) || len(s.normalizers[name].charFilters) == 0) {
		return len(value), nil
	}
	n, err := s.Normalizer(name)
	if err != nil {
		return 0, err
	}
	return len(n.Normalize([]byte(value))), nil
}

func (s *Settings) definesNormalizer(name string) bool { return s != nil && s.normalizers[name] != nil }

// normalizer returns nil if there is none.
func (s *Settings) normalizer(name string) *blueprint {
	if s.definesNormalizer(name) {
		return s.normalizers[name]
	}
	if name != lowercaseNormalizer {
		return nil
	}
	b := &builder{}
	made, err := b.normalizer(name, definition{"filter": json.RawMessage(`["lowercase"]`)})
	if err != nil {
		return nil
	}
	return made
}

// normalizer makes the blueprint of a defined normalizer.
func (b *builder) normalizer(name string, d definition) (*blueprint, error) {
	p := b.parameters("normalizer", name, d)
	p.choice("type", "custom")
	c := chainDefinition{name: name, tokenizer: json.RawMessage(`"keyword"`), charFilters: p.names("char_filter"), filters: p.names("filter"), noNormal: true}
	if err := p.finish(); err != nil {
		return nil, err
	}
	for _, parts := range []struct {
		kind    string
		raw     []json.RawMessage
		defined map[string]definition
	}{{"char_filter", c.charFilters, b.definitions.CharFilter}, {"filter", c.filters, b.definitions.Filter}} {
		for _, raw := range parts.raw {
			part, err := b.part(parts.kind, name, raw, parts.defined)
			if err != nil {
				return nil, err
			}
			if kind := part.text("type", part.name); !slices.Contains(normalizing[parts.kind], kind) {
				p.fail("it may not use %s [%s], but [%s]", parts.kind, part.name, strings.Join(normalizing[parts.kind], ", "))
				return nil, p.err
			}
		}
	}
	made, err := b.chain(&c)
	if err != nil {
		return nil, err
	}
	for i, f := range made.makeFilters(Documents) {
		if _, ok := f.(mapper); !ok {
			p.fail("it may not use filter %s, which makes several words", c.filters[i])
			return nil, p.err
		}
	}
	return made, nil
}
