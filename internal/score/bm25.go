package score

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
)

// BM25 holds the ranking function's parameters.
//
// Robertson, Walker, Jones, Hancock-Beaulieu and Gatford, "Okapi at TREC-3", 1994. We differ:
// the constant factor (K1+1) is omitted, as in Lucene since version 8; rankings are the same,
// and a contribution stays below the idf.
type BM25 struct {
	K1, B float32
}

// DefaultBM25 is of published BM25 baselines (Anserini).
var DefaultBM25 = BM25{K1: 0.9, B: 0.4}

// IDF is ln(1 + (N - n + 0.5) / (n + 0.5)), positive for n <= N.
//
// Worked number: N=1000, n=10 gives 4.5574 (tested).
func IDF(numDocs, docFreq uint64) float64 {
	n := float64(docFreq)
	return math.Log1p((float64(numDocs) - n + 0.5) / (n + 0.5))
}

// Term scores one query term's postings:
//
//	contribution = round(weight * freq / (freq + (c0 + c1*length)))
//	weight = idf * boost * 2^16,  c0 = K1*(1-B),  c1 = K1*B/avgLen
//
// Worked number: idf 4.5574, boost 1, freq 3, length 120, avgLen 100, K1 0.9, B 0.4 gives K =
// 0.972, 3/3.972 * 4.5574 = 3.4421, so 225583 (tested).
//
// With Linear it scores external weights instead of frequencies (learned sparse retrieval):
//
//	contribution = round(weight * freq)
type Term struct {
	Weight float32
	C0, C1 float32
	Linear bool
}

// NewLinearTerm is for a query weight, and frequencies that are document weights times scale.
// Contributions stay below 2^32 if weight*freq/scale is at most 65535.
func NewLinearTerm(weight, scale float64) Term {
	return Term{Weight: float32(weight / scale * (1 << base.ScoreFractionBits)), Linear: true}
}

// NewTerm is for an idf and boost in a field with a mean length of avgLen tokens; avgLen <= 0
// counts as 1.
func (p BM25) NewTerm(idf, boost, avgLen float64) Term {
	if !(avgLen > 0) {
		avgLen = 1
	}
	k1, b := float64(p.K1), float64(p.B)
	return Term{
		Weight: float32(idf * boost * (1 << base.ScoreFractionBits)),
		C0:     float32(k1 * (1 - b)),
		C1:     float32(k1 * b / avgLen),
	}
}

// Score returns the contribution of a frequency (>= 1) in a document of length tokens. It is
// below 2^32 for every valid boost (base.ScoreFractionBits, query.MaxBoost: 22.2*1000*2^16 <
// 2^32).
//
// The conversions prevent fused multiplications and additions, which Go allows on some
// processors.
func (t Term) Score(freq, length uint32) base.Score {
	f := float32(freq)
	if t.Linear {
		return base.Score(uint32(float32(float32(t.Weight*f) + 0.5)))
	}
	k := float32(t.C0 + float32(t.C1*float32(length)))
	s := float32(float32(t.Weight*f) / float32(f+k))
	return base.Score(uint32(float32(s + 0.5)))
}

// ScoreOf is Score for a frequency that is not a whole number, above 0: of a phrase with slop.
func (t Term) ScoreOf(freq float32, length uint32) base.Score {
	if t.Linear {
		return base.Score(uint32(float32(float32(t.Weight*freq) + 0.5)))
	}
	k := float32(t.C0 + float32(t.C1*float32(length)))
	s := float32(float32(t.Weight*freq) / float32(freq+k))
	return base.Score(uint32(float32(s + 0.5)))
}

// ScoreCombined is Score for a frequency, above 0, and a length that are weighted sums over fields.
func (t Term) ScoreCombined(freq, length float32) base.Score {
	k := float32(t.C0 + float32(t.C1*length))
	s := float32(float32(t.Weight*freq) / float32(freq+k))
	return base.Score(uint32(float32(s + 0.5)))
}

// Limit is an upper bound of all scores. The term must not be Linear.
func (t Term) Limit() base.Score { return base.Score(uint32(float32(t.Weight+0.5))) + 1 }
