package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// Weights is a sparse vector, as of learned sparse models: index terms with weights, which multiply the weights in the
// index. Terms of weight 0 are ignored.
//
// With a Field, which is one of type sparse_vector, the node is a leaf like others: it matches documents with any of the
// terms, and none if there is no term. Without, the index must be one of weights, each term is a Plain clause, and the node must be the whole query.
type Weights struct {
	Field string
	Terms []TermWeight
	Boost float64 // as in Term; only with a Field
}

// TermWeight is an index term and its weight, 0 to MaxBoost.
type TermWeight struct {
	Term   string
	Weight float64
}

func (*Weights) node() {}

func (w *Weights) boost() *float64 {
	if w.Field == "" {
		return nil
	}
	return &w.Boost
}

// String returns a JSON object, which ParseWeights reads, after the field if there is one.
func (w *Weights) String() string { return string(w.append(nil)) }

func (w *Weights) append(dst []byte) []byte {
	dst = append(appendField(dst, w.Field), '{')
	for i, t := range w.Terms {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		name, _ := json.Marshal(t.Term) // a string: cannot fail
		dst = append(append(dst, name...), ": "...)
		dst = strconv.AppendFloat(dst, t.Weight, 'g', -1, 64)
	}
	return appendBoost(append(dst, '}'), w.Boost)
}

func (w *Weights) validate() error {
	if len(w.Terms) > MaxClauses {
		return invalid(ErrTooManyClauses, "more than %d terms", MaxClauses)
	}
	for _, t := range w.Terms {
		if !(t.Weight >= 0 && t.Weight <= MaxBoost) {
			return invalid(ErrSyntax, "term %q: weight %g is not between 0 and %d", t.Term, t.Weight, MaxBoost)
		}
	}
	return nil
}

// weights checks a vector; one with a field counts as its terms.
func (v *validator) weights(w *Weights, outer float64, depth int) error {
	if w.Field == "" && depth > 0 {
		return invalid(ErrSyntax, "a Weights node without a field is within a group: it must be the whole query")
	}
	if err := w.validate(); err != nil || w.Field == "" {
		return err
	}
	v.leaves += max(len(w.Terms)-1, 0)
	return v.leaf("", outer, w.Boost)
}

// vector parses the object of a vector at pos; nil: there is none.
func (p *parser) vector() Node {
	offset := p.pos
	d := json.NewDecoder(strings.NewReader(p.text[offset:]))
	var object json.RawMessage
	if d.Decode(&object) != nil {
		return nil
	}
	w, err := ParseWeights(string(object))
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			p.add(e.Kind, offset, "%s", e.Reason)
		}
		return nil
	}
	if p.leaves+len(w.Terms) > MaxClauses {
		p.stop(ErrTooManyClauses, offset, "more than %d words and phrases", MaxClauses)
		p.leaves = MaxClauses
		return nil
	}
	p.leaves += max(len(w.Terms)-1, 0)
	w.Field, w.Boost = p.field, 1
	p.pos += int(d.InputOffset())
	return w
}

// IsWeights reports whether text is for ParseWeights: its first character other than a blank is
// "{". A word can start with `\{`.
func IsWeights(text string) bool {
	for i := range len(text) {
		if !isASCIISpace(text[i]) {
			return text[i] == '{'
		}
	}
	return false
}

// ParseWeights parses a JSON object such as {"search": 1.9, "engine": 0.7}. The error is an
// *Error.
func ParseWeights(text string) (*Weights, error) {
	if len(text) > MaxBytes {
		return nil, &Error{Kind: ErrTooLong, Text: text, Offset: MaxBytes, Reason: fmt.Sprintf("more than %d bytes", MaxBytes)}
	}
	terms, err := corpus.ParseVector([]byte(text))
	if err != nil {
		return nil, weightsError(err)
	}
	w := &Weights{Terms: make([]TermWeight, len(terms))}
	for i, t := range terms {
		w.Terms[i] = TermWeight(t)
	}
	if err := w.validate(); err != nil {
		return nil, err
	}
	return w, nil
}

// Without Text: the reason names term or byte.
func weightsError(err error) *Error {
	reason := strings.TrimSuffix(err.Error(), ": "+base.ErrBadInput.Error()) // Unwrap adds it
	return &Error{Kind: ErrSyntax, Reason: strings.Replace(reason, " of the line", "", 1)}
}
