package postings

import (
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// CursorStats is a Cursor's work since Reset.
type CursorStats struct {
	BlocksDecoded   int // blocks with decoded DocIDs
	PostingsDecoded int // postings in these blocks
}

// Cursor iterates over a List in DocID order and decodes only blocks in which it stops. Reset
// places it before the first posting; Next and NextGEQ may follow in any order. DocID is NoDocID
// before the first move, at the end and after an error (see Err). Methods for the current
// posting or block may then be called only if their comments allow it.
//
// A Cursor contains its decoded block (1 KiB), does not allocate, and is not safe for concurrent
// use.
type Cursor struct {
	list   *List
	dir    []BlockEntry
	bounds []score.Bound // bounds of the blocks; nil: use the directory

	cur   uint32 // docIDs[pos]; NoDocID before the first move and at the end
	pos   int    // of the current posting in its block
	size  int    // of the block
	block int    // current block; -1 before the first move; len(dir) at the end
	last  uint32 // Last of the current block

	docSize     int  // size of the block's encoded DocIDs
	freqsReady  bool // freqs holds the block's frequencies
	freqsAsked  int  // number of frequencies read one by one
	freqCached  int  // position of the last one read
	freqCache   uint32
	shallow     int // block found by the last shallow move, >= block
	positionsOf int // posting at positionAt
	positionAt  int
	err         error
	stats       CursorStats

	// Invariant: docIDs[size:] is NoDocID, so a search needs no length.
	docIDs, freqs [codec.BlockLen]uint32
}

// Reset places the cursor before l's first posting; l may be empty and must not change
// meanwhile. bounds, if not nil, replaces the directory's (List.FrontierBounds). Other than
// NumBlocks bounds are an error that wraps base.ErrBadInput.
func (c *Cursor) Reset(l *List, bounds []score.Bound) {
	c.list = l
	c.dir = l.directory()
	c.bounds = bounds
	c.cur = uint32(base.NoDocID)
	c.pos, c.size, c.block, c.shallow, c.last = 0, 0, -1, 0, 0
	c.freqsReady = false
	c.err = nil
	c.stats = CursorStats{}
	if bounds != nil && len(bounds) != len(c.dir) {
		c.fail(fmt.Errorf("%d bounds for %d blocks: %w", len(bounds), len(c.dir), base.ErrBadInput))
	}
}

// DocID returns the current DocID.
func (c *Cursor) DocID() base.DocID { return base.DocID(c.cur) }

// Err returns the error that stopped the cursor; it wraps base.ErrCorrupt and names the block.
func (c *Cursor) Err() error { return c.err }

// Stats returns the counters; NumBlocks - BlocksDecoded blocks were skipped.
func (c *Cursor) Stats() CursorStats { return c.stats }

// NumBlocks is the list's.
func (c *Cursor) NumBlocks() int { return len(c.dir) }

// Next returns the next posting's DocID.
func (c *Cursor) Next() base.DocID {
	if c.pos+1 < c.size {
		c.pos++
		c.cur = c.docIDs[c.pos&(codec.BlockLen-1)]
		return base.DocID(c.cur)
	}
	return c.NextBlock()
}

// NextBlock moves to the next block's first posting.
func (c *Cursor) NextBlock() base.DocID {
	if c.block+1 >= len(c.dir) {
		return c.end()
	}
	if !c.load(c.block + 1) {
		return base.NoDocID
	}
	return base.DocID(c.cur)
}

// NextGEQ moves to the first posting, from the current one on, with a DocID of at least target.
// It decodes at most one block.
func (c *Cursor) NextGEQ(target base.DocID) base.DocID {
	t := uint32(target)
	if c.block < 0 || t > c.last {
		if c.block >= len(c.dir) {
			return base.NoDocID
		}
		i := c.seek(max(c.block+1, c.shallow), t)
		if i == len(c.dir) {
			return c.end()
		}
		if !c.load(i) {
			return base.NoDocID
		}
	}
	if c.cur < t {
		c.pos = scoring.Search(&c.docIDs, t)
		c.cur = c.docIDs[c.pos&(codec.BlockLen-1)]
	}
	return base.DocID(c.cur)
}

// seek returns the first block >= i whose Last is at least target, or len(dir). It compares the
// next few blocks without branches, then gallops (Bentley and Yao, "An almost optimal algorithm
// for unbounded searching", Information Processing Letters 5(3), 1976).
func (c *Cursor) seek(i int, target uint32) int {
	const near = 4
	dir := c.dir
	if uint(i) < uint(len(dir)) && len(dir)-i >= near {
		next, t := (*[near]BlockEntry)(dir[i:]), uint64(target)
		passed := before(next[0].Last, t) + before(next[1].Last, t) + before(next[2].Last, t) + before(next[3].Last, t)
		i += passed
		if passed < near {
			return i
		}
	}
	step := near
	for i < len(dir) && dir[i].Last < target {
		if i+step >= len(dir) || dir[i+step].Last >= target {
			// The block is in (i, i+step].
			lo, hi := i+1, min(i+step, len(dir))
			for lo < hi {
				mid := int(uint(lo+hi) / 2)
				if dir[mid].Last < target {
					lo = mid + 1
				} else {
					hi = mid
				}
			}
			return lo
		}
		i += step
		step *= 2
	}
	return i
}

// before returns 1 if d is less than target, which is below 2^32, otherwise 0.
func before(d uint32, target uint64) int { return int((uint64(d) - target) >> 63) }

// load makes block i, after the current one, current with its first posting. It returns
// false on an error.
func (c *Cursor) load(i int) bool {
	size, err := c.list.DecodeDocIDs(i, &c.docIDs)
	if err == nil && c.dir[i].Last > c.list.last {
		err = errBeyondLast(i)
	}
	if err != nil {
		return c.fail(err)
	}
	n := c.list.BlockSize(i)
	for j := n; j < codec.BlockLen; j++ {
		c.docIDs[j] = uint32(base.NoDocID)
	}
	c.stats.BlocksDecoded++
	c.stats.PostingsDecoded += n
	c.block, c.pos, c.size = i, 0, n
	c.cur, c.last = c.docIDs[0], c.dir[i].Last
	c.docSize = size
	c.freqsReady, c.freqsAsked, c.freqCached = false, 0, -1
	c.positionsOf, c.positionAt = 0, 0
	c.shallow = max(c.shallow, i)
	return true
}

func (c *Cursor) end() base.DocID {
	c.cur, c.last = uint32(base.NoDocID), uint32(base.NoDocID)
	c.pos, c.size, c.block, c.shallow = 0, 0, len(c.dir), len(c.dir)
	c.freqsReady = false
	return base.NoDocID
}

func (c *Cursor) fail(err error) bool {
	c.end()
	c.err = err
	return false
}

// freqsOneByOne single reads cost about the same as decoding the whole block.
const freqsOneByOne = 8

// Freq is the current frequency; 0 on an error.
func (c *Cursor) Freq() uint32 {
	return c.BlockFreq(c.pos)
}

// BlockFreq is the current block's frequency i; 0 on an error.
func (c *Cursor) BlockFreq(i int) uint32 {
	if c.freqsReady {
		return c.freqs[i&(codec.BlockLen-1)]
	}
	if i >= c.size { // the list ended with an error
		return 0
	}
	if c.freqCached == i {
		return c.freqCache
	}
	if c.freqsAsked >= freqsOneByOne {
		if c.BlockFreqs() == nil {
			return 0
		}
		return c.freqs[i&(codec.BlockLen-1)]
	}
	c.freqsAsked++
	f, err := c.list.FreqAt(c.block, c.docSize, i)
	if err != nil {
		c.fail(err)
		return 0
	}
	c.freqCached, c.freqCache = i, f
	return f
}

// Positions appends the current posting's positions, rising; the list must have some. Rising
// calls in a block skip each posting once, all before the current one together.
func (c *Cursor) Positions(dst []uint32) ([]uint32, error) {
	freqs := c.BlockFreqs()
	if freqs == nil {
		return dst, c.err
	}
	src, err := c.list.PositionBytes(c.block)
	if err != nil {
		c.fail(err)
		return dst, err
	}
	if c.positionsOf > c.pos { // the current posting again
		c.positionsOf, c.positionAt = 0, 0
	}
	skipped := uint64(0)
	for _, f := range freqs[c.positionsOf:c.pos] {
		skipped += uint64(f)
	}
	at := -1
	if skipped <= uint64(len(src)) {
		at = skipVbytes(src, c.positionAt, int(skipped))
	}
	if at < 0 {
		c.fail(errPositionsEnd(c.block))
		return dst, c.err
	}
	out, next, err := DecodePositions(dst, src, at, freqs[c.pos])
	if err != nil {
		c.fail(err)
		return dst, err
	}
	c.positionsOf, c.positionAt = c.pos+1, next
	return out, nil
}
