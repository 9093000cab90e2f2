package plan

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/saat"
)

// counter marks the matches of impact-ordered lists with reused memory.
type counter struct {
	words    []uint64 // by DocID of the index
	segments []impact.Segment
	docIDs   []base.DocID
}

func (c *counter) impacts(q *saat.Query) (int64, error) {
	err := c.markImpacts(q)
	return ones(c.words), err
}

func (c *counter) markImpacts(q *saat.Query) (err error) {
	c.words = cleared(c.words, q.Index.NumDocs())
	for i := range q.Terms {
		if c.segments, err = q.Terms[i].List.AppendSegments(c.segments[:0]); err != nil {
			return err
		}
		for j := range c.segments {
			if c.docIDs, err = q.Index.AppendDocIDs(c.docIDs[:0], &c.segments[j]); err != nil {
				return err
			}
			for _, d := range c.docIDs {
				c.words[d/64] |= 1 << (d % 64)
			}
		}
	}
	return nil
}
