package base

import "strconv"

// ScoreFractionBits is the number of fraction bits of a Score.
const ScoreFractionBits = 16

// Score is a fixed-point document score with ScoreFractionBits fraction bits (unit 2^-16).
// The contribution of one posting fits in 32 bits. A Score sums contributions in 64 bits,
// so the sum over any number of terms of a query is exact, cannot overflow, and does not
// depend on the order of addition.
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

// Before reports whether h precedes o in the total order of results.
func (h Hit) Before(o Hit) bool {
	return h.Score > o.Score || h.Score == o.Score && h.DocID < o.DocID
}
