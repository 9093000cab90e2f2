package traverse

import (
	"math"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// maxCandidates is how many candidates there can be at a time.
const maxCandidates = maxWindow

// candidates are documents, in rising DocID order, that may still enter the
// result, with the sum of their contributions so far. Lists are applied to all
// of them, one list after another, by the kernels of package scoring.
type candidates struct {
	n      int
	docIDs [maxCandidates]uint32
	sums   [maxCandidates]uint32

	scores [codec.BlockLen]uint32 // contributions of a block or of its matches
	matches
}

// matches are documents that are in a block.
type matches struct {
	of, at        [codec.BlockLen]uint8 // the document, the posting
	docIDs, freqs [codec.BlockLen]uint32
}

// keep drops the candidates with sums below least.
func (c *candidates) keep(least base.Score) {
	if least > math.MaxUint32 {
		c.n = 0
		return
	}
	docIDs, sums := c.docIDs[:c.n], c.sums[:c.n]
	c.n = scoring.Select(docIDs, sums, docIDs, sums, uint32(least))
}

// keepLive drops the candidates that are deleted documents.
func (c *candidates) keepLive(q *Query) {
	if q.Live == nil {
		return
	}
	n := 0
	for i := range c.n {
		d := c.docIDs[i]
		c.docIDs[n], c.sums[n] = d, c.sums[i]
		if q.live(d) {
			n++
		}
	}
	c.n = n
}

// add adds the contributions of a list to the candidates that are in it. A
// block is not decoded for a candidate whose sum with the block's bound is below
// least; such a candidate's sum may come out too low, and stays below least.
// It returns the number of contributions.
func (c *candidates) add(l *legState, least base.Score) (scored int64) {
	cur := &l.cursor
	last := int64(-1) // of the decoded block
	if cur.DocID() != base.NoDocID {
		last = int64(cur.BlockLastDocID())
	}
	for i := 0; i < c.n; {
		d := base.DocID(c.docIDs[i])
		if int64(d) > last {
			b, first, _, ok := cur.ShallowNextGEQ(d)
			if !ok {
				return scored
			}
			if first > d || base.Score(c.sums[i])+l.upper(b) < least {
				i++
				continue
			}
			if cur.NextGEQ(d) == base.NoDocID {
				return scored
			}
			last = int64(cur.BlockLastDocID())
		}
		looked, found := scoring.Match(&c.of, &c.at, c.docIDs[i:c.n], cur.Block(), uint32(last))
		if found > 0 {
			c.score(l, found, c.scores[:found])
			for m, of := range c.of[:found] {
				c.sums[i+int(of)] += c.scores[m]
			}
			scored += int64(found)
		}
		i += looked
	}
	return scored
}

// scoreOneByOne is how many matches of a block are scored one by one, before it
// pays to decode and score all of them as a block.
const scoreOneByOne = 6

// score sets scores to the contributions of n matches in the list's block.
func (m *matches) score(l *legState, n int, scores []uint32) {
	cur := &l.cursor
	block := cur.Block()
	if n <= scoreOneByOne {
		for i, at := range m.at[:n] {
			scores[i] = uint32(l.Term.Score(cur.BlockFreq(int(at)), l.Lengths[block[at&(codec.BlockLen-1)]]))
		}
		return
	}
	freqs := cur.BlockFreqs()
	if freqs == nil { // an error has ended the list
		clear(scores)
		return
	}
	for i, at := range m.at[:n] {
		m.docIDs[i], m.freqs[i] = block[at&(codec.BlockLen-1)], freqs[at]
	}
	scoring.Contributions(scores, m.docIDs[:n], m.freqs[:n], l.Lengths, &l.term)
}
