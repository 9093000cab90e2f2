package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
)

// maxCandidates is how many candidates there can be at a time.
const maxCandidates = maxWindow

// candidates are documents, in rising DocID order, that may still enter the
// result, with the sum of their contributions so far. Lists are applied to all
// of them, one list after another, in loops over plain arrays.
type candidates struct {
	n      int
	docIDs [maxCandidates]uint32
	sums   [maxCandidates]base.Score
}

// keep drops the candidates with sums below least.
func (c *candidates) keep(least base.Score) {
	n := 0
	for i := range c.n {
		d, sum := c.docIDs[i], c.sums[i]
		c.docIDs[n&(maxCandidates-1)], c.sums[n&(maxCandidates-1)] = d, sum
		if sum >= least {
			n++
		}
	}
	c.n = n
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
			if first > d || c.sums[i]+l.upper(b) < least {
				i++
				continue
			}
			if cur.NextGEQ(d) == base.NoDocID {
				return scored
			}
			last = int64(cur.BlockLastDocID())
		}
		block := cur.Block()
		for ; i < c.n && int64(c.docIDs[i]) <= last; i++ {
			d := c.docIDs[i]
			if at := postings.Search(block, d); block[at] == d {
				c.sums[i] += l.Term.Score(cur.BlockFreq(at), l.Lengths[d])
				scored++
			}
		}
	}
	return scored
}
