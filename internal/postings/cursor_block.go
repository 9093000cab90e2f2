package postings

import (
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// The current block, and pruning of later ones without decoding.

// BlockDocIDs returns the current block's DocIDs, valid until the cursor leaves it, like the
// results below.
func (c *Cursor) BlockDocIDs() []uint32 { return c.docIDs[:c.size] }

// Block is BlockDocIDs padded with NoDocID for Search.
func (c *Cursor) Block() *[codec.BlockLen]uint32 { return &c.docIDs }

// BlockFreqs returns the current block's frequencies, decoded at the first call; nil on an
// error.
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

// BlockBefore returns the current block's postings in [current, end), end above the current
// DocID. freqs is nil on an error.
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

// BlockPos returns the current position in the block.
func (c *Cursor) BlockPos() int { return c.pos }

// LeaveBlock skips the block's postings before position i, not before the current one, and
// returns the least valid target of the next NextGEQ. Posting i becomes current if it exists;
// otherwise the next block is not decoded until that NextGEQ.
func (c *Cursor) LeaveBlock(i int) base.DocID {
	if i >= c.size {
		return base.DocID(c.last) + 1
	}
	c.pos = i
	c.cur = c.docIDs[i]
	return base.DocID(c.cur)
}

// BlockLastDocID is the current block's last DocID.
func (c *Cursor) BlockLastDocID() base.DocID { return base.DocID(c.last) }

// BlockIndex is the current block: -1 before the first move, NumBlocks at the end.
func (c *Cursor) BlockIndex() int { return c.block }

// LoadBlock moves to the first posting of block i, above the current one and selected with
// List.Block; NumBlocks moves to the end.
func (c *Cursor) LoadBlock(i int) base.DocID {
	if i >= len(c.dir) {
		return c.end()
	}
	if !c.load(i) {
		return base.NoDocID
	}
	return base.DocID(c.cur)
}

// ShallowBlock is the last ShallowNextGEQ's block.
func (c *Cursor) ShallowBlock() int { return c.shallow }

// maxPrefetch bounds the bytes of a block that Prefetch loads.
const maxPrefetch = 512

// Prefetch loads block i, in [0, NumBlocks), into the cache.
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

func (c *Cursor) bound(i int) score.Bound {
	if c.bounds != nil {
		return c.bounds[i]
	}
	return c.dir[i].Bound
}

// ShallowNextGEQ returns bound and DocID range of the block of the first posting >= target; not
// ok if the list ends before. It neither decodes nor moves the cursor, and may precede the
// first move. Targets must not fall. For any bytes, first <= last and target <= last. It is
// NextShallow of Ding and Suel, "Faster top-k document retrieval using block-max indexes",
// SIGIR 2011, §4.1.
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

// ShallowMax bounds postings with DocIDs in [from, to]: the maximum over overlapping blocks, or
// 0. It moves like ShallowNextGEQ(from) and reads one directory entry a block.
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

// Matched is memory for AppendCommon.
type Matched struct{ of, at [codec.BlockLen]uint8 }

// AppendCommon appends the docs that are in the list; docs rise from the current DocID on. It decodes only
// blocks in whose range one is. The caller checks Err.
func (c *Cursor) AppendCommon(dst, docs []uint32, m *Matched) []uint32 {
	for i := 0; i < len(docs); {
		_, first, last, ok := c.ShallowNextGEQ(base.DocID(docs[i]))
		if !ok {
			break
		}
		if docs[i] < uint32(first) {
			i++
			continue
		}
		if c.shallow != c.block && !c.load(c.shallow) {
			break
		}
		for i < len(docs) {
			looked, matches := scoring.Match(&m.of, &m.at, docs[i:], &c.docIDs, uint32(last))
			for _, j := range m.of[:matches] {
				dst = append(dst, docs[i+int(j)])
			}
			if i += looked; looked < codec.BlockLen {
				break
			}
		}
	}
	return dst
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

func errPosition(at int) error {
	return fmt.Errorf("position at byte %d: %w", at, base.ErrCorrupt)
}
