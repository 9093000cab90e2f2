package impact

import (
	"fmt"
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// Rankings are the functions that compute impacts; RankingExternal is for other sources.
var Rankings = []string{RankingBM25, RankingATIRE}

// Names of rankings.
const (
	RankingBM25     = "bm25"     // score.IDF, as in all other modes
	RankingATIRE    = "atire"    // as in the search engines ATIRE and JASS
	RankingWeights  = "weights"  // weights of document vectors, mapped by the Quantizer
	RankingExternal = "external" // not computed here
)

// Ranking scores a posting before quantisation.
type Ranking struct {
	Name string
	score.BM25
}

// Check returns base.ErrBadInput, wrapped, for an unknown name or invalid parameters.
func (r Ranking) Check() error {
	if !slices.Contains(Rankings, r.Name) {
		return fmt.Errorf("ranking %q is not one of %q: %w", r.Name, Rankings, base.ErrBadInput)
	}
	if !(r.K1 >= 0 && r.K1 <= 1000 && r.B >= 0 && r.B <= 1) {
		return fmt.Errorf("ranking %s with k1=%g, b=%g: want k1 in 0..1000 and b in 0..1: %w", r.Name, r.K1, r.B, base.ErrBadInput)
	}
	return nil
}

// Term returns the scorer of a term in docFreq of numDocs documents, in a field with avgLen
// tokens per document: BM25,
//
//	idf * freq / (freq + k1*(1 - b + b*length/avgLen))
//
// with the idf of all modes, or ATIRE's (Trotman, Jia and Crane, "Towards an efficient and
// effective search engine", SIGIR 2012 Workshop on Open Source IR):
//
//	idf = ln(N/n)
//
// We differ: ATIRE multiplies by k1+1, which quantisation cancels.
//
// Worked number: N=1000, n=10, freq 3, length 120, avgLen 100, k1 0.9, b 0.4: ATIRE's idf is
// 4.6052 and the score 3.4783 (tested).
func (r Ranking) Term(numDocs, docFreq uint64, avgLen float64) score.Term {
	idf := score.IDF(numDocs, docFreq)
	if r.Name == RankingATIRE {
		idf = math.Log(float64(numDocs) / float64(docFreq))
	}
	return r.NewTerm(idf, 1, avgLen)
}

// Quantizer maps scores to impacts, alike for all lists of a collection:
//
//	impact = 1 + floor(254 * (score - Min) / (Max - Min))
//
// The lowest score of all postings becomes 1, the highest 255: the "uniform" quantisation of
// Anh, de Kretser and Moffat, SIGIR 2001, with 8 bits as in Trotman and Crane, §3, in integers.
//
// Worked number: Min 100, Max 1116 (1016 = 4*254): 100 gives 1, 103 gives 1, 104 gives 2, 1116
// gives 255 (tested).
type Quantizer struct {
	Min base.Score `json:"min"`
	Max base.Score `json:"max"`
}

// NewQuantizer returns a Quantizer with an empty range.
func NewQuantizer() Quantizer { return Quantizer{Min: math.MaxUint64} }

// WeightQuantizer is for integer weights from 1 to greatest. Weights that fit in 8 bits stay
// unchanged.
func WeightQuantizer(greatest base.Score) Quantizer {
	return Quantizer{Min: 1, Max: max(greatest, 255)}
}

// See extends the range to a score.
func (q *Quantizer) See(s base.Score) {
	q.Min, q.Max = min(q.Min, s), max(q.Max, s)
}

// Impact returns the impact of a score in [Min, Max] below 2^56; 1 if Min equals Max.
func (q *Quantizer) Impact(s base.Score) uint8 {
	if q.Max <= q.Min {
		return 1
	}
	return uint8(1 + 254*uint64(s-q.Min)/uint64(q.Max-q.Min))
}
