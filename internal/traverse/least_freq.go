package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// maxLeastFreq bounds leastFreq: higher frequencies hardly change a contribution.
const maxLeastFreq = 8

// leastFreq returns the lowest frequency with which a posting may contribute least, at most maxLeastFreq: that of an empty document
// contributes most. Postings of lower frequencies, mostly of 1, are dropped before the lengths of their documents are
// read, which takes longer than the rest of a contribution: each is in another cache line.
func leastFreq(t *score.Term, least base.Score) uint32 {
	f := uint32(1)
	for f < maxLeastFreq && t.Score(f, 0) < least {
		f++
	}
	return f
}
