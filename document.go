package griffin

import (
	"maps"
	"slices"

	"github.com/griffin-search/griffin/internal/corpus"
)

// Document is one document, as it is added and as it is returned. Its texts are valid UTF-8;
// Add refuses others with ErrBadInput.
type Document struct {
	// ID is the caller's name for it: not empty, unique in the index. Adding a document
	// replaces an earlier one with the same ID.
	ID string `json:"id"`
	// Title and Text are searched together, as the default field.
	Title string `json:"title,omitempty"`
	Text  string `json:"text,omitempty"`
	// Fields are further texts, all stored; the fields in Settings.Fields can be searched with
	// name:word. A field occurs once for each of its values, in order. A nested value of a JSON
	// record has a dotted name ("meta.author").
	Fields []Field `json:"fields,omitempty"`
	// Vector holds terms and weights, for an index with Settings.WeightScale; Title and Text
	// are then only stored. Vectors are not stored: documents that are read back have none.
	Vector map[string]float64 `json:"vector,omitempty"`
}

// vector returns the sorted terms of Vector, so that equal documents make equal indexes; nil if
// there is none.
func (d *Document) vector() []corpus.TermWeight {
	if d.Vector == nil {
		return nil
	}
	terms := make([]corpus.TermWeight, 0, len(d.Vector))
	for _, term := range slices.Sorted(maps.Keys(d.Vector)) {
		terms = append(terms, corpus.TermWeight{Term: term, Weight: d.Vector[term]})
	}
	return terms
}

// Field is a named text of a document.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
