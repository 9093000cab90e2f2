package scoring

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// Sum is a sum of contributions: narrow or wide (package comment).
type Sum interface{ uint32 | uint64 }

// MaxTerms is how many contributions a wide sum can have.
const MaxTerms = 1<<16 - 1

// wideScoreBits is the number of bits of the score of a wide sum.
const wideScoreBits = 48

// Width is a kind of sums.
type Width uint8

// The kinds of sums: uint32 and uint64.
const (
	Narrow Width = iota
	Wide
)

// String returns "narrow" or "wide".
func (w Width) String() string {
	if w == Narrow {
		return "narrow"
	}
	return "wide"
}

// Bounded is what a proof must know of a term: MaxScore bounds its contributions.
type Bounded struct {
	Term     score.Term
	MaxScore base.Score
}

// SumsOf returns which sums the scores of a query need, where no document is longer
// than maxLength tokens. Narrow is returned only if no sum passes 2^32-1 and no
// contribution is 0.
//
// The least contribution is that of a frequency of 1 in the longest document. Rounding
// may put another one below it, but by less than 2^-20 of it (score.NewScale), so that
// none is 0 if it is 2.
func SumsOf(terms []Bounded, maxLength uint32) Width {
	const least = 2
	total := base.Score(0)
	for _, t := range terms {
		total += min(t.MaxScore, 1<<32) // as there are at most MaxTerms, this does not overflow
		if t.Term.Score(1, maxLength) < least {
			return Wide
		}
	}
	if total > math.MaxUint32 {
		return Wide
	}
	return Narrow
}

// WideSum returns the sum of a document with the given score and number of postings.
func WideSum(s base.Score, postings int) uint64 {
	return uint64(postings)<<wideScoreBits | uint64(s)
}

// SplitWide returns the score and the number of postings of a wide sum.
func SplitWide(sum uint64) (s base.Score, postings int) {
	return base.Score(sum & (1<<wideScoreBits - 1)), int(sum >> wideScoreBits)
}

// widthOf returns which sums S are.
func widthOf[S Sum]() Width {
	if ^S(0) == S(math.MaxUint32) {
		return Narrow
	}
	return Wide
}
