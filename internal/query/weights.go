package query

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// Weights is a vector: index terms as they are, each a Plain clause whose
// weight is the Boost. It is how the queries of learned sparse models are asked.
// Terms of weight 0 play no part.
type Weights struct {
	Terms []corpus.TermWeight
}

func (*Weights) node() {}

// String returns the vector as JSON, as ParseWeights takes it.
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

// IsWeights says whether a query text is meant for ParseWeights: whether it
// begins as a JSON object does, which no other query needs to.
func IsWeights(text string) bool {
	for i := range len(text) {
		if !isASCIISpace(text[i]) {
			return text[i] == '{'
		}
	}
	return false
}

// ParseWeights returns the vector of a JSON object of terms and weights, such as
// {"search": 1.9, "engine": 0.7}. An error is a *Error.
func ParseWeights(text string) (*Weights, error) {
	if len(text) > MaxBytes {
		return nil, &Error{Kind: ErrTooLong, Text: text, Offset: MaxBytes, Reason: fmt.Sprintf("more than %d bytes", MaxBytes)}
	}
	terms, err := corpus.ParseVector([]byte(text))
	if err != nil {
		return nil, weightsError(err)
	}
	if len(terms) > MaxClauses {
		return nil, &Error{Kind: ErrTooManyClauses, Text: text, Reason: fmt.Sprintf("more than %d terms", MaxClauses)}
	}
	for _, t := range terms {
		if t.Weight > MaxBoost {
			return nil, weightsError(fmt.Errorf("term %q: weight %g, at most %d: %w", t.Term, t.Weight, MaxBoost, base.ErrBadInput))
		}
	}
	return &Weights{Terms: terms}, nil
}

// weightsError has no text: the reason names the term or the byte.
func weightsError(err error) *Error {
	reason := strings.TrimSuffix(err.Error(), ": "+base.ErrBadInput.Error()) // Reason does not say it
	return &Error{Kind: ErrSyntax, Reason: strings.Replace(reason, " of the line", "", 1)}
}
