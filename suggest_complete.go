package griffin

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/spelling"
)

// Complete asks for the values of a field that begin with a text, in any letter case.
type Complete struct {
	Text string
	// Field is a keyword, such as "title.keyword", or a text, such as "title": its values are read from the
	// stored documents at the first use, up to two million, and kept in memory.
	Field string
	// Size bounds the values; default 5.
	Size int
	// Weight is a field of numbers: values with a greater number come first. "": values of more documents come first.
	Weight string
	// Fuzzy also finds values whose beginning is only similar; nil: none.
	Fuzzy *Fuzzy
}

// Fuzzy allows edits of a beginning. Zero values are the defaults of OpenSearch.
type Fuzzy struct {
	// Edits is "0", "1", "2" or "AUTO", the default, by the length of the text.
	Edits string
	// MinLength is the number of characters of the shortest text with edits; default 3.
	MinLength int
	// PrefixLength is the number of first characters that are equal; default 1, -1 for none.
	PrefixLength int
	// NoSwaps: swapped neighbours count as two edits.
	NoSwaps bool
}

// Completion is a value of a field.
type Completion struct {
	Text string `json:"text"`
	// Score is the greatest number of the field Weight in the documents with the value, or the number of
	// documents.
	Score float64 `json:"score"`
	// Freq is the number of documents.
	Freq uint64 `json:"freq"`
	// ID is the document with the greatest number, of these the one that was written first.
	ID string `json:"id"`
	// Edits of the beginning.
	Edits int `json:"edits,omitempty"`
}

// Complete returns values that begin with a text: those with the fewest edits first, then by Score, then in byte
// order. The answer depends on the live documents only. The error wraps ErrBadInput if a field or an option
// is not valid.
func (s Suggester) Complete(ctx context.Context, o Complete) (out []Completion, err error) {
	err = s.run(ctx, func(s *suggester) (err error) {
		out, err = s.complete(&o)
		return err
	})
	return out, err
}

func (s *suggester) complete(o *Complete) ([]Completion, error) {
	if o.Field == "" {
		return nil, fmt.Errorf("completion: want a field of values, such as title: %w", ErrBadInput)
	}
	f, err := s.open(o.Field)
	if err != nil {
		return nil, err
	}
	options := &spelling.CompleteOptions{Weight: o.Weight, Size: o.Size}
	if options.Size == 0 {
		options.Size = 5
	}
	if options.Size < 1 || options.Size > maxSuggestions {
		return nil, fmt.Errorf("completion: size %d, not 1 to %d: %w", o.Size, maxSuggestions, ErrBadInput)
	}
	if o.Weight != "" {
		if options.Decode, err = s.numbers(o.Weight); err != nil {
			return nil, err
		}
	}
	if o.Fuzzy != nil {
		if err := o.Fuzzy.set(options, o.Text); err != nil {
			return nil, err
		}
	}
	find := f.Complete
	if f.analyzer != nil {
		find = f.CompleteStored
	}
	values, err := find(s.ctx, f.normal(o.Text), options)
	if err != nil {
		return nil, err
	}
	out := make([]Completion, len(values))
	for i, v := range values {
		id, err := s.snapshot.Segments[v.Segment].ID(v.Doc)
		if err != nil {
			return nil, err
		}
		out[i] = Completion{Text: v.Value, Score: v.Weight, Freq: v.DocFreq, ID: string(id), Edits: v.Edits}
	}
	return out, nil
}

// numbers returns the function that turns a column of numbers into weights.
func (s *suggester) numbers(name string) (func(int64) float64, error) {
	f, ok := s.snapshot.Options.FieldMapping().Field(name)
	switch {
	case !ok:
		return nil, fmt.Errorf("completion: the index has no field %q: %w", name, ErrBadInput)
	case !f.HasNumbers() || f.Type == mapping.GeoPoint:
		return nil, fmt.Errorf("completion: field %q is of type %s, which has no numbers as weights: %w", name, f.Type, ErrBadInput)
	}
	return f.Type.Float64, nil
}

func (f *Fuzzy) set(o *spelling.CompleteOptions, text string) error {
	o.NoSwaps, o.PrefixLength = f.NoSwaps, f.PrefixLength
	least := f.MinLength
	if least == 0 {
		least = 3
	}
	switch o.PrefixLength {
	case 0:
		o.PrefixLength = 1
	case -1:
		o.PrefixLength = 0
	}
	switch f.Edits {
	case "0", "1", "2":
		o.Edits = int(f.Edits[0] - '0')
	case "", "AUTO":
		o.Edits = editsFor(text)
	default:
		return fmt.Errorf("completion: %q edits, not 0, 1, 2 or AUTO: %w", f.Edits, ErrBadInput)
	}
	if o.PrefixLength < 0 || least < 0 {
		return fmt.Errorf("completion: a length is negative: %w", ErrBadInput)
	}
	if utf8.RuneCountInString(text) < least {
		o.Edits = 0
	}
	return nil
}
