package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A vector is a JSON object of tokens and weights, as of learned sparse models: {"search": 3.41, "##ing": 0.27}.

const (
	// DefaultWeightScale is the scale of weights if the mapping has no other.
	DefaultWeightScale = 100
	// MaxWeightScale bounds the scale and its inverse: far above useful values.
	MaxWeightScale = 1e6
	// MaxVectorTokens bounds the tokens of a vector: the largest vocabulary in use, of XLM-RoBERTa, has 250,002.
	MaxVectorTokens = 1 << 18
	// MaxStoredWeight is the greatest weight times the scale: a bound has 16 bits.
	MaxStoredWeight = math.MaxUint16
	// maxTokenBytes is the longest term of a dictionary.
	maxTokenBytes = 1 << 15
)

// TokenWeight is a token of a vector with the number that is stored for its weight, 1 to MaxStoredWeight.
type TokenWeight struct {
	Token  string
	Stored uint32
}

// Scale is the weight scale, DefaultWeightScale by default.
func (f *Field) Scale() float64 {
	if f.WeightScale == 0 {
		return DefaultWeightScale
	}
	return f.WeightScale
}

// Vector returns the tokens of a vector in JSON, in its order, without those whose weight is rounded to 0. The
// error is a *ValueError. The type must be a Vector.
func (f *Field) Vector(value string) ([]TokenWeight, error) {
	tokens, err := f.vector(jsontext.NewDecoder(bytes.NewReader([]byte(value))))
	if err != nil {
		return nil, f.fail(value, "%w", err)
	}
	return tokens, nil
}

func (f *Field) vector(d *jsontext.Decoder) ([]TokenWeight, error) {
	if d.PeekKind() != '{' {
		return nil, errors.New("want an object of tokens and weights")
	}
	_, _ = d.ReadToken() // the brace
	var tokens []TokenWeight
	sum := uint64(0)
	for n := 0; d.PeekKind() != '}'; n++ {
		key, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		token := key.String()
		raw, err := d.ReadValue()
		switch {
		case err != nil:
			return nil, err
		case n == MaxVectorTokens:
			return nil, fmt.Errorf("more than %d tokens", MaxVectorTokens)
		case token == "" || len(token) > maxTokenBytes:
			return nil, fmt.Errorf("a token of %d bytes, want 1 to %d", len(token), maxTokenBytes)
		case raw.Kind() != '0':
			return nil, fmt.Errorf("token %.80q: the weight %.40s is not a number", token, raw)
		}
		stored, err := f.quantise(string(raw))
		if err != nil {
			return nil, fmt.Errorf("token %.80q: %w", token, err)
		}
		if sum += uint64(stored); sum > math.MaxUint32 {
			return nil, fmt.Errorf("the stored weights sum to more than %d", uint32(math.MaxUint32))
		}
		if stored > 0 {
			tokens = append(tokens, TokenWeight{token, stored})
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("bytes after the object")
	}
	return tokens, nil
}

// quantise returns the whole number nearest to the scale times a weight, half rounded up.
func (f *Field) quantise(weight string) (uint32, error) {
	w, err := strconv.ParseFloat(weight, 64)
	if err != nil || !(w >= 0) {
		return 0, fmt.Errorf("the weight %.40s is not 0 or more", weight)
	}
	stored := math.Floor(float64(w*f.Scale()) + 0.5)
	if stored > MaxStoredWeight {
		return 0, fmt.Errorf("the weight %.40s times the weight_scale %g passes %d: declare a smaller weight_scale", weight, f.Scale(), MaxStoredWeight)
	}
	return uint32(stored), nil
}

// Vectors returns the value of a vector in the JSON of a document as the text that Field.Vector reads: an object, or
// null, which is none.
func Vectors(raw []byte) ([]string, error) {
	switch kind(raw) {
	case 'n':
		return nil, nil
	case '{':
		v := jsontext.Value(bytes.Clone(raw))
		if err := v.Compact(); err != nil {
			return nil, err
		}
		return []string{string(v)}, nil
	}
	return nil, fmt.Errorf("want an object of tokens and weights, not %.40s", raw)
}
