package inverter

import (
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/mapping"
)

// FieldMapping returns Mapping, or one of the texts that Fields names.
func (s *Schema) FieldMapping() *mapping.Mapping {
	if s.Mapping != nil {
		return s.Mapping
	}
	m, err := mapping.New("", s.Declared())
	invariant.Check(err == nil, "fields %q of an index: %v", s.Fields, err)
	return m
}

// NewAnalyzer returns the analyzer of the default field.
func (s *Schema) NewAnalyzer() (analysis.Analyzer, error) {
	return s.Analysis.New(s.Analyzer, analysis.Documents)
}

// isVector reports whether a field has weights instead of frequencies, and no positions.
func (s *Schema) isVector(name string) bool {
	if s.Mapping == nil {
		return false
	}
	f, ok := s.Mapping.Field(name)
	return ok && f.Type.Vector()
}

// Revision counts the changes of fields; those that were added do not count.
func (s *Schema) Revision() uint64 {
	if s.Mapping == nil {
		return 0
	}
	return s.Mapping.Revision()
}

// Shape is as of mapping.Mapping.
func (s *Schema) Shape() uint64 {
	if s.Mapping == nil {
		return 0
	}
	return s.Mapping.Shape()
}
