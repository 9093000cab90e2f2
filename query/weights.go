package query

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// Weights is a sparse vector, as of learned sparse models: index terms, each a Plain clause
// with its weight as Boost. The index must store weights. Terms of weight 0 are ignored.
// Weights must be the whole query.
type Weights struct {
	Terms []TermWeight
}

// TermWeight is an index term and its weight, 0 to MaxBoost.
type TermWeight struct {
	Term   string
	Weight float64
}

func (*Weights) node() {}

func (*Weights) boost() *float64 { return nil }

// String returns a JSON object, which ParseWeights reads.
func (w *Weights) String() string {
	dst := []byte{'{'}
	for i, t := range w.Terms {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		name, _ := json.Marshal(t.Term) // a string: cannot fail
		dst = append(append(dst, name...), ": "...)
		dst = strconv.AppendFloat(dst, t.Weight, 'g', -1, 64)
	}
	return string(append(dst, '}'))
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
