package traverse

import (
	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

const maxCandidates = maxWindow

// candidates are documents that may still enter, in increasing DocID order, with partial sums.
// The kernels apply a list to all at once.
type candidates struct {
	n      int
	docIDs [maxCandidates]uint32
	sums   [maxCandidates]uint32

	scores  [codec.BlockLen]uint32 // contributions of a block or of its matches
	lookups [codec.BlockLen]lookup
	matches
}

type matches struct {
	of, at        [codec.BlockLen]uint8 // index of the document, index of the posting
	docIDs, freqs [codec.BlockLen]uint32
}

// keep drops candidates whose sums are below least, at most the bounds in the window.
func (c *candidates) keep(least base.Score) {
	docIDs, sums := c.docIDs[:c.n], c.sums[:c.n]
	c.n = scoring.Select(docIDs, sums, docIDs, sums, uint32(least))
}

// keepLive has no branches: with half of the documents live, the processor would mispredict every second one.
func (c *candidates) keepLive(q *Query) {
	if q.Live == nil {
		return
	}
	live, docIDs, sums := q.Live, c.docIDs[:c.n], c.sums[:c.n]
	n := 0
	for i, d := range docIDs {
		docIDs[n], sums[n] = d, sums[i]
		n += int(live[d/64] >> (d % 64) & 1)
	}
	c.n = n
}

// add adds a list's contributions and returns their number. It decodes no block for a candidate
// whose sum plus the block's bound is below least; that sum may be too low, but stays below
// least.
func (c *candidates) add(l *legState, least base.Score) (scored int64) {
	cur := &l.cursor
	for next := 0; next < c.n; {
		var lookups []lookup
		lookups, next = c.find(l, next, least)
		for _, g := range lookups {
			if block := int(g.block); block != cur.BlockIndex() && cur.LoadBlock(block) == base.NoDocID {
				return scored
			}
			last := uint32(cur.BlockLastDocID())
			for i := int(g.from); i < c.n; {
				looked, found := scoring.Match(&c.of, &c.at, c.docIDs[i:c.n], cur.Block(), last)
				if found > 0 {
					c.score(l, found, c.scores[:found])
					for m, of := range c.of[:found] {
						c.sums[i+int(of)] += c.scores[m]
					}
					scored += int64(found)
				}
				if i += looked; looked < codec.BlockLen {
					break
				}
			}
		}
	}
	return scored
}

// find returns blocks that may contain candidates from index from on, up to a maximum number,
// and the first unprocessed candidate. It begins to load the blocks' bytes.
func (c *candidates) find(l *legState, from int, least base.Score) (lookups []lookup, next int) {
	cur := &l.cursor
	n := 0
	j := from
	for j < c.n && n < len(c.lookups) {
		b, first, last, ok := cur.ShallowNextGEQ(base.DocID(c.docIDs[j]))
		if !ok {
			return c.lookups[:n], c.n
		}
		if first > base.DocID(c.docIDs[j]) || base.Score(c.sums[j])+l.upper(b) < least {
			j++
			continue
		}
		block := cur.ShallowBlock()
		if block != cur.BlockIndex() {
			cur.Prefetch(block)
		}
		c.lookups[n] = lookup{block: uint32(block), from: uint32(j)}
		n++
		for j++; j+behind <= c.n && base.DocID(c.docIDs[j+behind-1]) <= last; j += behind {
		}
		for ; j < c.n && base.DocID(c.docIDs[j]) <= last; j++ {
		}
	}
	return c.lookups[:n], j
}

// With more matches, decoding and scoring the whole block is faster.
const scoreOneByOne = 6

// score sets scores to the contributions of n matches in the list's current block.
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
