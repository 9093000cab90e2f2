package base

import "strconv"

// ScoreFractionBits is the number of binary digits of a Score after the point.
const ScoreFractionBits = 16

// Score is a fixed-point document score with ScoreFractionBits fraction bits
// (unit 2^-16). The contribution of one posting fits in 32 bits; a Score sums
// contributions in 64, so a sum over any number of terms that a query may have
// is exact, cannot overflow, and does not depend on the order of addition.
//
// Results are in one total order everywhere: Score descending, DocID ascending.
type Score uint64

// Float64 returns the score in BM25 units. The conversion is exact.
func (s Score) Float64() float64 { return float64(s) / (1 << ScoreFractionBits) }

// String formats the score with four decimals.
func (s Score) String() string { return strconv.FormatFloat(s.Float64(), 'f', 4, 64) }

// Hit is one result: a document and its score.
type Hit struct {
	DocID DocID
	Score Score
}

// Before reports whether h stands before o in the total order of results.
func (h Hit) Before(o Hit) bool {
	return h.Score > o.Score || h.Score == o.Score && h.DocID < o.DocID
}
