package query

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// Weights is a sparse vector: index terms, which are not analysed, each a Plain
// clause whose Boost is its weight. Learned sparse models give such queries; the
// index must store weights. Terms of weight 0 are ignored. A Weights node must be
// the whole query.
type Weights struct {
	Terms []TermWeight
}

// TermWeight is an index term and its weight, 0 to MaxBoost.
type TermWeight struct {
	Term   string
	Weight float64
}

func (*Weights) node() {}

// String returns the vector as a JSON object, which ParseWeights reads.
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

// validate checks the weights for Validate.
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

// IsWeights reports whether text is meant for ParseWeights: its first character
// that is not a blank is "{". A word that starts with "{" can be written `\{`.
func IsWeights(text string) bool {
	for i := range len(text) {
		if !isASCIISpace(text[i]) {
			return text[i] == '{'
		}
	}
	return false
}

// ParseWeights parses a JSON object of terms and weights, such as
// {"search": 1.9, "engine": 0.7}. The error is an *Error.
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

// weightsError returns an Error without Text: the reason names the term or the byte.
func weightsError(err error) *Error {
	reason := strings.TrimSuffix(err.Error(), ": "+base.ErrBadInput.Error()) // Unwrap adds it
	return &Error{Kind: ErrSyntax, Reason: strings.Replace(reason, " of the line", "", 1)}
}
