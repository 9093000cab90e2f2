package scoring

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// Sum is narrow or wide (package comment).
type Sum interface{ uint32 | uint64 }

// MaxTerms bounds the contributions to a wide sum.
const MaxTerms = 1<<16 - 1

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

// Bounded is a term with a bound of its contributions.
type Bounded struct {
	Term     score.Term
	MaxScore base.Score
}

// SumsOf returns the kind of sums that a query needs, if no document is longer
// than maxLength tokens: Narrow only if no sum exceeds 2^32-1 and no
// contribution is 0.
//
// The smallest contribution is for a frequency of 1 in the longest document.
// Rounding may make another one smaller, but by less than a fraction of 2^-20
// (score.NewScale), so a computed minimum of at least 2 suffices.
func SumsOf(terms []Bounded, maxLength uint32) Width {
	const least = 2
	total := base.Score(0)
	for _, t := range terms {
		total += min(t.MaxScore, 1<<32) // at most MaxTerms terms: no overflow
		if t.Term.Score(1, maxLength) < least {
			return Wide
		}
	}
	if total > math.MaxUint32 {
		return Wide
	}
	return Narrow
}

// WideSum returns the sum of a document with the given score and number of
// postings.
func WideSum(s base.Score, postings int) uint64 {
	return uint64(postings)<<wideScoreBits | uint64(s)
}

// SplitWide returns the parts of a wide sum.
func SplitWide(sum uint64) (s base.Score, postings int) {
	return base.Score(sum & (1<<wideScoreBits - 1)), int(sum >> wideScoreBits)
}

func widthOf[S Sum]() Width {
	if ^S(0) == S(math.MaxUint32) {
		return Narrow
	}
	return Wide
}
