package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Settings define analyzers in the JSON of OpenSearch's "analysis":
//
//	{
//	  "analyzer":    {"title": {"type": "custom", "tokenizer": "standard", "filter": ["lowercase", "short"]}},
//	  "filter":      {"short": {"type": "length", "max": 20}},
//	  "char_filter": {…},
//	  "tokenizer":   {…},
//	  "normalizer":  {"plain": {"type": "custom", "filter": ["lowercase", "asciifolding"]}}
//	}
//
// The analyzer "default" is the one of fields that name none, and "default_search" of queries there. A nil
// *Settings has the registered analyzers only. Settings do not change, and are safe for concurrent use.
type Settings struct {
	definitions definitions
	analyzers   map[string]*blueprint
	normalizers map[string]*blueprint
	encoded     []byte // JSON
}

// definitions are as given, with files in place of their names.
type definitions struct {
	Analyzer   map[string]definition `json:"analyzer,omitempty"`
	CharFilter map[string]definition `json:"char_filter,omitempty"`
	Filter     map[string]definition `json:"filter,omitempty"`
	Normalizer map[string]definition `json:"normalizer,omitempty"`
	Tokenizer  map[string]definition `json:"tokenizer,omitempty"`
}

type definition map[string]json.RawMessage

// MaxSettingsBytes bounds the JSON of Settings.
const MaxSettingsBytes = 8 << 20

// ParseSettings reads the JSON. files reads the files that parameters name (stopwords_path); nil refuses
// these. The error names the part and the parameter, and wraps base.ErrBadInput.
func ParseSettings(data []byte, files ReadFile) (*Settings, error) {
	s := new(Settings)
	if len(data) > MaxSettingsBytes {
		return nil, fmt.Errorf("analysis settings of %d bytes, at most %d: %w", len(data), MaxSettingsBytes, base.ErrBadInput)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s.definitions); err != nil {
		return nil, fmt.Errorf("analysis settings: %w: %w", err, base.ErrBadInput)
	}
	if d.More() {
		return nil, fmt.Errorf("analysis settings: bytes after the object: %w", base.ErrBadInput)
	}
	if err := s.compile(files); err != nil {
		return nil, err
	}
	var err error
	if s.encoded, err = json.Marshal(&s.definitions); err != nil {
		return nil, err
	}
	if len(s.encoded) > MaxSettingsBytes {
		return nil, fmt.Errorf("analysis settings with their files have %d bytes, at most %d: %w", len(s.encoded), MaxSettingsBytes, base.ErrBadInput)
	}
	return s, nil
}

// MarshalJSON returns the settings with sorted keys, from which ParseSettings makes equal ones without
// files.
func (s *Settings) MarshalJSON() ([]byte, error) { return bytes.Clone(s.encoded), nil }

// UnmarshalJSON is ParseSettings without files.
func (s *Settings) UnmarshalJSON(data []byte) error {
	parsed, err := ParseSettings(data, nil)
	if err == nil {
		*s = *parsed
	}
	return err
}

// Equal reports whether two settings define the same.
func (s *Settings) Equal(o *Settings) bool {
	return s == o || s != nil && o != nil && bytes.Equal(s.encoded, o.encoded)
}

// Names returns the names of all analyzers, sorted.
func (s *Settings) Names() []string {
	names := Names()
	if s != nil {
		names = append(names, slices.Collect(maps.Keys(s.analyzers))...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	return names
}

// Defines reports whether the settings define an analyzer of that name.
func (s *Settings) Defines(name string) bool { return s != nil && s.analyzers[name] != nil }

// Has reports whether an analyzer of that name is defined or registered.
func (s *Settings) Has(name string) bool {
	if of, ok := strings.CutPrefix(name, NormalizerPrefix); ok {
		return s.normalizer(of) != nil
	}
	return s.Defines(name) || find(name) != nil
}

// Use is what an analyzer is for.
type Use uint8

const (
	// Documents are indexed.
	Documents Use = iota
	// Queries pass filters of synonyms, which documents do not, and lose stop words that documents keep
	// ("queries_only").
	Queries
	// Phrases are queries that keep these stop words, and queries of nothing but stop words.
	Phrases
)

// New returns a new analyzer for a use. Defined ones come before registered ones. A name that begins with NormalizerPrefix is a
// normalizer's. The error is as of the function New.
func (s *Settings) New(name string, use Use) (Analyzer, error) {
	if of, ok := strings.CutPrefix(name, NormalizerPrefix); ok {
		b := s.normalizer(of)
		if b == nil {
			_, err := s.Normalizer(of)
			return nil, err
		}
		return b.analyzer(use), nil
	}
	if s != nil {
		if b := s.analyzers[name]; b != nil {
			return b.analyzer(use), nil
		}
	}
	if e := find(name); e != nil {
		return e.analyzer(e.name, use), nil
	}
	return nil, fmt.Errorf("%w: no analyzer is named %q (there are: %s)", base.ErrBadInput, name, strings.Join(s.Names(), ", "))
}

// Custom is the chain of a request that is not defined in settings. Each part is a name, or the JSON of a
// definition.
type Custom struct {
	Tokenizer   json.RawMessage
	CharFilters []json.RawMessage
	Filters     []json.RawMessage
}

// NewCustom returns an analyzer for a use with its parts.
func (s *Settings) NewCustom(c Custom, use Use) (Analyzer, error) {
	b := s.builder(nil)
	chain := chainDefinition{name: "custom", tokenizer: c.Tokenizer, charFilters: c.CharFilters, filters: c.Filters}
	made, err := b.chain(&chain)
	if err != nil {
		return nil, err
	}
	return made.analyzer(use), nil
}

func (s *Settings) builder(files ReadFile) *builder {
	b := &builder{files: files}
	if s != nil {
		b.definitions = s.definitions
	}
	return b
}

// compile makes every part, so that all errors are found.
func (s *Settings) compile(files ReadFile) error {
	b := s.builder(files)
	for _, parts := range []struct {
		kind    string
		defined map[string]definition
		check   func(p *parameters)
	}{
		{"char_filter", s.definitions.CharFilter, func(p *parameters) { newCharFilter(p) }},
		{"tokenizer", s.definitions.Tokenizer, func(p *parameters) { newTokenizer(p) }},
		{"filter", s.definitions.Filter, func(p *parameters) { newFilter(p) }},
	} {
		for _, name := range sortedKeys(parts.defined) {
			if parts.defined[name]["type"] == nil {
				return fmt.Errorf("%s [%s] has no [type]: %w", parts.kind, name, base.ErrBadInput)
			}
			p := b.parameters(parts.kind, name, parts.defined[name])
			parts.check(p)
			if err := p.finish(); err != nil {
				return err
			}
		}
	}
	b.files = nil // files are in the definitions now
	s.analyzers = map[string]*blueprint{}
	for _, name := range sortedKeys(s.definitions.Analyzer) {
		made, err := b.analyzer(name, s.definitions.Analyzer[name])
		if err != nil {
			return err
		}
		s.analyzers[name] = made
	}
	s.normalizers = map[string]*blueprint{}
	for _, name := range sortedKeys(s.definitions.Normalizer) {
		made, err := b.normalizer(name, s.definitions.Normalizer[name])
		if err != nil {
			return err
		}
		s.normalizers[name] = made
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
