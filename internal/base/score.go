package base

import "strconv"

// ScoreFractionBits are the fraction bits of a Score.
const ScoreFractionBits = 16

// Score is a fixed-point document score in units of 2^-16. The contribution of one posting
// fits in 32 bits, so sums over any number of terms are exact, cannot overflow, and do not
// depend on the order of addition.
//
// Results are in one total order everywhere: Score descending, DocID ascending.
type Score uint64

// Float64 returns the exact score in BM25 units.
func (s Score) Float64() float64 { return float64(float64(s) / (1 << ScoreFractionBits)) }

// String formats four decimals.
func (s Score) String() string { return strconv.FormatFloat(s.Float64(), 'f', 4, 64) }

// Hit is one result: a document and its score.
type Hit struct {
	DocID DocID
	Score Score
}

// Before reports whether h precedes o in the total order of results.
func (h Hit) Before(o Hit) bool {
	return h.Score > o.Score || h.Score == o.Score && h.DocID < o.DocID
}
