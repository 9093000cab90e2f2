package plan

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/automaton"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// CheckLeaf returns an error if a leaf of a parsed query cannot be searched: its value does not fit its field, its field cannot
// be searched in such a way or not at all, or its regular expression is not valid. The error is one that compiling the query
// would return, but is known where the leaf stands in the text.
func CheckLeaf(m *mapping.Mapping, leaf query.Node) error {
	if r, ok := leaf.(*query.Regexp); ok {
		if _, err := automaton.Regexp(r.Pattern, query.DefaultStates); err != nil {
			return err
		}
	}
	if e, ok := leaf.(*query.Exists); ok && m != nil {
		if f, ok := m.Field(e.Field); ok && f.NoIndex && !f.HasNumbers() && !f.HasOrdinals() {
			return searchableField(f)
		}
	}
	name, ok := query.FieldOf(leaf)
	if !ok || name == "" || m == nil {
		return nil
	}
	f, ok := m.Field(name)
	if _, weights := leaf.(*query.Weights); !ok || weights || f.Type == mapping.Text && !f.NoIndex {
		return nil
	}
	if err := searchableField(f); err != nil {
		return err
	}
	if f.Type == mapping.Keyword {
		return nil
	}
	var c compiler // for values that depend on the time
	if r, ok := leaf.(*query.Range); ok {
		_, err := c.typedRange(f, r, 1)
		return err
	}
	_, text, ok := valueOf(leaf)
	if !ok {
		return noTerms(f)
	}
	_, err := c.valueSource(f, []string{text})
	return err
}

// searchableField returns an error if words and values of queries cannot search a field.
func searchableField(f *mapping.Field) error {
	switch {
	case f.NoIndex:
		return fmt.Errorf("field %q cannot be searched: its mapping has index false: %w", f.Name, base.ErrBadInput)
	case f.Type.Vector():
		return fmt.Errorf("field %q is of type %s: search it with tokens and weights, as %s:{\"token\": 1.5} or neural_sparse: %w", f.Name, f.Type, f.Name, base.ErrBadInput)
	}
	return nil
}

func noTerms(f *mapping.Field) error {
	return fmt.Errorf("field %q is of type %s, which has no terms: %w", f.Name, f.Type, base.ErrBadInput)
}
