package analysis

import (
	"maps"
	"strings"
)

// Scheme maps the fields of an index to their analyzers. It is safe for concurrent use once it is complete.
type Scheme struct {
	settings *Settings
	rest     fieldNames            // of other fields
	fields   map[string]fieldNames // with analyzers of their own
}

// fieldNames are the analyzers of documents and of queries.
type fieldNames struct{ documents, queries string }

// defaultSearch is the analyzer of queries in fields without one, if it is defined.
const defaultSearch = "default_search"

// NewScheme returns the scheme of an index whose analyzer has that name.
func NewScheme(settings *Settings, name string) *Scheme {
	s := &Scheme{settings: settings, rest: fieldNames{name, name}, fields: map[string]fieldNames{}}
	if settings != nil && settings.analyzers[defaultSearch] != nil {
		s.rest.queries = defaultSearch
	}
	return s
}

// Set gives a field analyzers; "" is the scheme's analyzer; without one for queries, they have the documents'.
func (s *Scheme) Set(field, documents, queries string) {
	names := s.rest
	if documents != "" {
		names = fieldNames{documents, documents}
	}
	if queries != "" {
		names.queries = queries
	}
	if names != s.rest {
		s.fields[field] = names
	}
}

// Name returns the name of a field's analyzer.
func (s *Scheme) Name(field string, use Use) string {
	names, own := s.fields[field]
	if !own {
		names = s.rest
	}
	if use == Documents {
		return names.documents
	}
	return names.queries
}

// New returns a new analyzer of a field. Its error is as of Settings.New.
func (s *Scheme) New(field string, use Use) (Analyzer, error) {
	return s.settings.New(s.Name(field, use), use)
}

// Normalizer returns a new normalizer of a keyword; nil: it has none.
func (s *Scheme) Normalizer(field string) (*Normalizer, error) {
	name, ok := strings.CutPrefix(s.Name(field, Documents), NormalizerPrefix)
	if !ok {
		return nil, nil
	}
	return s.settings.Normalizer(name)
}

// Check returns an error that wraps base.ErrBadInput if an analyzer does not exist.
func (s *Scheme) Check() error {
	for _, names := range append([]fieldNames{s.rest}, sortedValues(s.fields)...) {
		for _, name := range []string{names.documents, names.queries} {
			if !s.settings.Has(name) {
				_, err := s.settings.New(name, Documents)
				return err
			}
		}
	}
	return nil
}

func sortedValues(m map[string]fieldNames) []fieldNames {
	var all []fieldNames
	for _, key := range sortedKeys(m) {
		all = append(all, m[key])
	}
	return all
}

// Equal reports whether two schemes make the same of all texts.
func (s *Scheme) Equal(o *Scheme) bool {
	return s == o || s != nil && o != nil && s.rest == o.rest && s.settings.Equal(o.settings) && maps.Equal(s.fields, o.fields)
}
