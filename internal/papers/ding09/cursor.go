package ding09

import (
	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/papers/lists"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/traverse"
)

const noDocID = uint32(base.NoDocID)

// cursor is a position in a list. Blocks are decoded when the cursor enters them.
type cursor struct {
	term  *traverse.Leg
	list  *lists.List
	work  *plan.Work
	docID uint32 // noDocID behind the end, and after an error
	err   error

	block  int // -1 before the first
	at, n  int // position and number of postings in the block
	docIDs [codec.BlockLen]uint32
}

// reset places the cursor on the first posting.
func (c *cursor) reset(t *traverse.Leg, l *lists.List, w *plan.Work) {
	c.term, c.list, c.work = t, l, w
	c.block, c.err = -1, nil
	c.enter(0)
}

// close counts the blocks that were not reached, and drops the references to the index.
func (c *cursor) close() {
	c.work.BlocksSkipped += int64(max(c.list.NumBlocks()-c.block-1, 0))
	c.term, c.list, c.work = nil, nil, nil
}

// enter moves to the first posting of a block.
func (c *cursor) enter(block int) {
	c.work.BlocksSkipped += int64(block - c.block - 1)
	c.block, c.at, c.docID = block, 0, noDocID
	if block == c.list.NumBlocks() {
		return
	}
	n, err := c.list.DecodeBlock(block, &c.docIDs)
	if err != nil {
		c.err = err
		return
	}
	c.n = n
	c.work.BlocksDecoded++
	c.work.PostingsDecoded += int64(n)
	c.docID = c.docIDs[0]
}

// next moves to the next posting. The cursor must be at a posting.
func (c *cursor) next() {
	if c.at++; c.at < c.n {
		c.docID = c.docIDs[c.at]
		return
	}
	c.enter(c.block + 1)
}

// nextGEQ moves forward to the first posting at or behind target.
func (c *cursor) nextGEQ(target uint32) {
	if c.docID >= target {
		return
	}
	if target > c.list.Last(c.block) {
		c.enter(c.list.FindBlock(c.block+1, target))
	}
	for c.docID < target {
		c.next()
	}
}

// score returns the contribution of the posting.
func (c *cursor) score() base.Score {
	freq, err := c.list.Freq(c.block*codec.BlockLen + c.at)
	if err != nil {
		c.err = err
		return 0
	}
	c.work.PostingsScored++
	return c.term.Term.Score(freq, c.term.Lengths[c.docID])
}
