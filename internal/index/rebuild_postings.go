package index

import (
	"cmp"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
)

// segmentPostings iterates over the postings of live documents of a list, in DocID order.
type segmentPostings struct {
	c     *comparer
	ranks *ranks
	list  postings.List

	block, at, n  int
	docIDs, freqs [codec.BlockLen]uint32
	positions     []byte // of the rest of the block
}

// reset starts before the first posting of list.
func (p *segmentPostings) reset() { p.block, p.at, p.n = 0, 0, 0 }

func (p *segmentPostings) load() error {
	size, err := p.list.DecodeDocIDs(p.block, &p.docIDs)
	if err == nil {
		err = p.list.DecodeFreqs(p.block, size, &p.freqs)
	}
	if err == nil && p.list.HasPositions() {
		p.positions, err = p.list.PositionBytes(p.block)
	}
	if err != nil {
		return err
	}
	p.at, p.n = 0, p.list.BlockSize(p.block)
	if p.block++; p.block%512 == 0 {
		return p.c.ctx.Err()
	}
	return nil
}

// next returns false after the last posting.
func (p *segmentPostings) next(to *livePosting) (bool, error) {
	for {
		if p.at == p.n {
			if p.block == p.list.NumBlocks() {
				return false, nil
			}
			if err := p.load(); err != nil {
				return false, err
			}
		}
		i := p.at
		p.at++
		to.freq, to.positions = p.freqs[i], nil
		if p.list.HasPositions() {
			size := vbytesLen(p.positions, p.freqs[i])
			if size < 0 {
				return false, fmt.Errorf("block %d: positions end early: %w", p.block-1, base.ErrCorrupt)
			}
			to.positions, p.positions = p.positions[:size:size], p.positions[size:]
		}
		if to.rank = p.ranks.of(p.docIDs[i]); to.rank != noRank {
			return true, nil
		}
	}
}

// vbytesLen returns the size of the first n vbytes; -1: there are fewer.
func vbytesLen(src []byte, n uint32) int {
	for i, b := range src {
		if n == 0 {
			return i
		}
		if b < 0x80 {
			n--
		}
	}
	if n > 0 {
		return -1
	}
	return len(src)
}

// livePostings iterates over the postings of the live documents of all segments of a
// listComparer, in the order of writing.
type livePostings struct {
	l       *listComparer
	segment int  // index in listComparer.segments
	open    bool // the segment's list is open
	current segmentPostings

	// Of reordered segments, in windows of the order of writing.
	window   []livePosting
	from, to uint32
}

// defaultWindow is the default of comparer.maxWindow. A list of more postings of a reordered segment
// is read several times. A posting takes 32 bytes.
const defaultWindow = 1 << 19

func (g *livePostings) next(to *livePosting) (bool, error) {
	for ; g.segment < len(g.l.segments); g.segment, g.open = g.segment+1, false {
		if !g.open {
			if err := g.begin(); err != nil {
				return false, err
			}
		}
		found, err := g.nextOfSegment(to)
		if err != nil {
			v := &g.l.s.Segments[g.l.segments[g.segment]]
			return false, fmt.Errorf("segment %s: field %q: term %q: %w", v.Name, g.l.s.Fields[g.l.field].Name, g.l.term, err)
		}
		if found {
			return true, nil
		}
		g.l.progress(int64(g.current.list.DocFreq))
	}
	return false, nil
}

func (g *livePostings) begin() error {
	i := g.l.segments[g.segment]
	if err := g.l.open(&g.l.s.Segments[i], &g.current.list); err != nil {
		return err
	}
	g.current.c, g.current.ranks = g.l.comparer, &g.l.ranks[i]
	g.current.reset()
	g.open = true
	g.window, g.from, g.to = g.window[:0], 0, g.current.ranks.first
	return nil
}

func (g *livePostings) nextOfSegment(to *livePosting) (bool, error) {
	r := g.current.ranks
	if !r.reordered {
		return g.current.next(to)
	}
	for g.from == uint32(len(g.window)) {
		if g.to == r.end {
			return false, nil
		}
		if err := g.fill(); err != nil {
			return false, err
		}
	}
	*to = g.window[g.from]
	g.from++
	return true, nil
}

// fill reads the postings of the next window.
func (g *livePostings) fill() error {
	r := g.current.ranks
	low, high := g.to, r.end
	if g.current.list.DocFreq > g.l.maxWindow && high-low > g.l.maxWindow {
		high = low + g.l.maxWindow
	}
	g.window, g.from, g.to = g.window[:0], 0, high
	g.current.reset()
	for {
		var p livePosting
		found, err := g.current.next(&p)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		if p.rank >= low && p.rank < high {
			g.window = append(g.window, p)
		}
	}
	base.Sort(g.window, func(a, b livePosting) int { return cmp.Compare(a.rank, b.rank) })
	return nil
}
