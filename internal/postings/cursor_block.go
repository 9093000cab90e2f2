package postings

import (
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// This file is what a Cursor tells of blocks: of the current one, for loops
// that work a block at a time, and of those ahead, for pruning without decoding.

// BlockDocIDs returns the DocIDs of the current block, rising. Valid until the
// cursor leaves the block.
func (c *Cursor) BlockDocIDs() []uint32 { return c.docIDs[:c.size] }

// Block returns the memory of the current block's DocIDs, as Search takes it:
// behind the last of them it holds NoDocID. Valid as BlockDocIDs is.
func (c *Cursor) Block() *[codec.BlockLen]uint32 { return &c.docIDs }

// BlockFreqs returns the frequencies of the current block, decoded at the first
// call; nil on an error. Valid until the cursor leaves the block.
func (c *Cursor) BlockFreqs() []uint32 {
	if !c.freqsReady {
		if c.size == 0 {
			return nil
		}
		if err := c.list.DecodeFreqs(c.block, c.docSize, &c.freqs); err != nil {
			c.fail(err)
			return nil
		}
		c.freqsReady = true
	}
	return c.freqs[:c.size]
}

// BlockBefore returns the postings of the current block from the current one on
// that are below end, which is above the current one; nil frequencies on an
// error. Valid until the cursor leaves the block.
func (c *Cursor) BlockBefore(end base.DocID) (docIDs, freqs []uint32) {
	freqs = c.BlockFreqs()
	if freqs == nil {
		return nil, nil
	}
	to := c.size
	if uint32(end) <= c.last {
		to = scoring.Search(&c.docIDs, uint32(end))
	}
	return c.docIDs[c.pos:to], freqs[c.pos:to]
}

// BlockPos returns the position of the current posting in its block.
func (c *Cursor) BlockPos() int { return c.pos }

// LeaveBlock says that the postings of the current block before position i, at
// or after the current one, are done with, and returns the least DocID that a
// NextGEQ may be asked for next. If postings are left, the first of them becomes
// the current one; if not, the next block is not decoded before that NextGEQ.
func (c *Cursor) LeaveBlock(i int) base.DocID {
	if i >= c.size {
		return base.DocID(c.last) + 1
	}
	c.pos = i
	c.cur = c.docIDs[i]
	return base.DocID(c.cur)
}

// BlockLastDocID returns the last DocID of the current block.
func (c *Cursor) BlockLastDocID() base.DocID { return base.DocID(c.last) }

// BlockIndex returns the number of the current block in the list: -1 before the
// first move, NumBlocks at the end.
func (c *Cursor) BlockIndex() int { return c.block }

// LoadBlock moves to the first posting of block i, which must be above the
// current one, and returns its DocID; with i = NumBlocks, to the end. It is for
// whoever finds blocks by List.Block; NextGEQ finds them itself.
func (c *Cursor) LoadBlock(i int) base.DocID {
	if i >= len(c.dir) {
		return c.end()
	}
	if !c.load(i) {
		return base.NoDocID
	}
	return base.DocID(c.cur)
}

// ShallowBlock returns the number of the block that the last ShallowNextGEQ
// found.
func (c *Cursor) ShallowBlock() int { return c.shallow }

// maxPrefetch is the most bytes of a block that Prefetch loads.
const maxPrefetch = 512

// Prefetch begins to load the bytes of block i, which must be in the list, into
// the cache.
func (c *Cursor) Prefetch(i int) {
	l := c.list
	from := uint64(c.dir[i].Offset)
	if l.lists != nil || from >= uint64(len(l.payload)) {
		return
	}
	p := l.payload[from:]
	size := maxPrefetch
	if i+1 < len(c.dir) {
		size = min(size, int(c.dir[i+1].Offset-c.dir[i].Offset))
	}
	scoring.Prefetch(p[:min(size, len(p))])
}

// bound is the BlockMaxScore of block i.
func (c *Cursor) bound(i int) score.Bound {
	if c.bounds != nil {
		return c.bounds[i]
	}
	return c.dir[i].Bound
}

// ShallowNextGEQ finds the block where the first posting at or after target
// is, without decoding it and without moving the cursor, and returns the
// block's bound and DocID range; ok is false if the list ends before target.
// target must not fall from call to call. It may be called before the first
// move. first <= last, and target <= last, whatever the list's bytes are. (Ding
// and Suel, "Faster top-k document retrieval using block-max indexes", SIGIR
// 2011, §4.1, call it NextShallow.)
func (c *Cursor) ShallowNextGEQ(target base.DocID) (bound score.Bound, first, last base.DocID, ok bool) {
	i := c.shallow
	if i >= len(c.dir) {
		return 0, base.NoDocID, base.NoDocID, false
	}
	if c.dir[i].Last < uint32(target) {
		i = c.seek(i+1, uint32(target))
		c.shallow = i
		if i >= len(c.dir) {
			return 0, base.NoDocID, base.NoDocID, false
		}
	}
	e := &c.dir[i]
	if e.First > e.Last {
		c.fail(errEntry(i))
		return 0, base.NoDocID, base.NoDocID, false
	}
	return c.bound(i), base.DocID(e.First), base.DocID(e.Last), true
}

// ShallowMax returns a bound of all postings with DocIDs in [from, to], by the
// blocks that reach into it; 0 if none does. It moves as ShallowNextGEQ(from)
// does, and looks at one directory entry a block in the range.
func (c *Cursor) ShallowMax(from, to base.DocID) score.Bound {
	if _, _, _, ok := c.ShallowNextGEQ(from); !ok {
		return 0
	}
	var m score.Bound
	for i := c.shallow; i < len(c.dir) && c.dir[i].First <= uint32(to); i++ {
		m = max(m, c.bound(i))
	}
	return m
}

func errEntry(block int) error {
	return fmt.Errorf("block %d: directory entry: %w", block, base.ErrCorrupt)
}

func errBeyondLast(block int) error {
	return fmt.Errorf("block %d: ends behind the last block: %w", block, base.ErrCorrupt)
}

func errPositionsEnd(block int) error {
	return fmt.Errorf("block %d: positions end early: %w", block, base.ErrCorrupt)
}
