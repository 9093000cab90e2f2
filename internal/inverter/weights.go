package inverter

import (
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/score"
)

// The greatest scaled weight, which a bound can hold.
const maxWeight = uint32(score.MaxBound)

// The nearest whole number, half rounded up.
func quantise(weight, scale float64) float64 { return math.Floor(float64(weight*scale) + 0.5) }

// The document must fit the kind of index; the error wraps base.ErrBadInput and names the term.
func (s *Schema) checkVector(d *corpus.Document) error {
	if s.WeightScale == 0 {
		if d.Vector != nil {
			return fmt.Errorf("the document is a vector of weights, the index is one of texts: %w", base.ErrBadInput)
		}
		return nil
	}
	if d.Vector == nil {
		return fmt.Errorf("the document has no vector, and the index is one of weights: %w", base.ErrBadInput)
	}
	total := 0.0 // is the document's length
	for _, t := range d.Vector {
		w := quantise(t.Weight, s.WeightScale)
		switch {
		case !(t.Weight >= 0):
			return fmt.Errorf("term %q: weight %g is negative: %w", t.Term, t.Weight, base.ErrBadInput)
		case w > float64(maxWeight):
			return fmt.Errorf("term %q: weight %g times the scale %g passes %d: make the index with a smaller scale: %w",
				t.Term, t.Weight, s.WeightScale, maxWeight, base.ErrBadInput)
		case t.Term == "" || len(t.Term) > maxTermBytes:
			return fmt.Errorf("term of %d bytes, want 1 to %d: %w", len(t.Term), maxTermBytes, base.ErrBadInput)
		}
		total += w
	}
	if total > math.MaxUint32 {
		return fmt.Errorf("the weights of the document's %d terms sum to %g, at most %d: %w", len(d.Vector), total, uint32(math.MaxUint32), base.ErrBadInput)
	}
	return nil
}

// Each term occurs once; weights that round to 0 are left out.
func (f *fieldInverter) addWeights(doc uint32, vector []corpus.TermWeight, scale float64) {
	length := uint32(0)
	for _, t := range vector {
		if w := uint32(quantise(t.Weight, scale)); w != 0 {
			f.addWeight(doc, t.Term, w)
			length += w
		}
	}
	f.addLength(doc, length)
	f.numTokens += uint64(length)
}

// addVector is addWeights for a vector of a field beside others.
func (f *fieldInverter) addVector(doc uint32, vector []mapping.TokenWeight) {
	length := uint32(0)
	for _, t := range vector {
		f.addWeight(doc, t.Token, t.Stored)
		length += t.Stored
	}
	f.addLength(doc, length)
	f.numTokens += uint64(length)
}

func (f *fieldInverter) addWeight(doc uint32, term string, weight uint32) {
	n, isNew := f.table.insert(bytesOf(term))
	if isNew {
		f.states = append(f.states, termState{})
	}
	st := &f.states[n]
	f.finishPosting(st)
	st.doc, st.freq = doc, weight
	st.docFreq++
}
