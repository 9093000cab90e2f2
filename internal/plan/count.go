package plan

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/traverse"
)

// counter counts the matches of flat queries with bitmaps. It reads every
// posting, scores none, and reuses its memory.
type counter struct {
	words, next []uint64
	cursor      postings.Cursor
	order       []int
	segments    []impact.Segment
	docIDs      []base.DocID
}

func (p *Plan) count(stop traverse.Interrupt, sc *Scratch, st *Stage, w *Work) (n int64, err error) {
	if st.root == nil {
		return 0, nil
	}
	for i := range p.planner.snapshot.Segments {
		if err := stop.Err(); err != nil {
			return 0, err
		}
		var matches int64
		if st.flat {
			matches, err = sc.counter.flat(p, sc, st, i, w)
		} else {
			matches, err = p.countTree(stop, sc, st, i, w)
		}
		if err != nil {
			return 0, err
		}
		n += matches
	}
	return n, nil
}

func (c *counter) flat(p *Plan, sc *Scratch, st *Stage, segment int, w *Work) (int64, error) {
	legs := st.Legs(segment)
	c.order = c.order[:0]
	for i := range legs {
		if legs[i].List.DocFreq > 0 {
			c.order = append(c.order, i)
		}
	}
	if len(c.order) == 0 || st.conjunctive && len(c.order) < len(legs) {
		return 0, nil
	}
	live, err := sc.mask.without(p, st, segment, w)
	if err != nil {
		return 0, err
	}
	numDocs := p.planner.snapshot.Segments[segment].NumDocs()
	c.words = cleared(c.words, numDocs)
	for n, i := range c.order {
		into := c.words
		if st.conjunctive && n > 0 {
			c.next = cleared(c.next, numDocs)
			into = c.next
		}
		if err := c.mark(into, legs[i].List, w); err != nil {
			return 0, fmt.Errorf("term %q: %w", p.terms[st.leaves[i].(*leaf).terms[0]].bytes, err)
		}
		if st.conjunctive && n > 0 {
			for j := range c.words {
				c.words[j] &= c.next[j]
			}
		}
	}
	return ones(c.words, live), nil
}

func (c *counter) mark(words []uint64, l *postings.List, w *Work) error {
	c.cursor.Reset(l, nil)
	for c.cursor.NextBlock() != base.NoDocID {
		for _, d := range c.cursor.BlockDocIDs() {
			words[d/64] |= 1 << (d % 64)
		}
	}
	stats := c.cursor.Stats()
	w.Add(Work{PostingsDecoded: int64(stats.PostingsDecoded), BlocksDecoded: int64(stats.BlocksDecoded)})
	return c.cursor.Err()
}

// cleared returns zeroed words for numDocs documents and reuses the memory of
// words.
func cleared(words []uint64, numDocs int) []uint64 {
	n := (numDocs + 63) / 64
	words = slices.Grow(words[:0], n)[:n]
	clear(words)
	return words
}

// ones counts the bits set in words and, if not nil, in live.
func ones(words, live []uint64) (n int64) {
	for i, w := range words {
		if live != nil {
			w &= live[i]
		}
		n += int64(bits.OnesCount64(w))
	}
	return n
}

func (p *Plan) countTree(stop traverse.Interrupt, sc *Scratch, st *Stage, segment int, w *Work) (n int64, err error) {
	view := &p.planner.snapshot.Segments[segment]
	sc.pulse.reset(stop)
	sc.tree.reset(p, segment, &sc.pulse)
	root, err := sc.tree.build(st.root)
	if err != nil || root == nil {
		return 0, err
	}
	for doc := root.NextGEQ(0); doc != base.NoDocID && !sc.pulse.stopped(); doc = root.NextGEQ(doc + 1) {
		if view.Live == nil || view.Live.Has(int(doc)) {
			n++
		}
	}
	if err = sc.tree.finish(w); err == nil {
		err = sc.pulse.err
	}
	return n, err
}

func (p *Plan) countImpacts(sc *Scratch) (int64, error) {
	c, q := &sc.counter, &p.saat
	c.words = cleared(c.words, q.Index.NumDocs())
	var err error
	for i := range q.Terms {
		if c.segments, err = q.Terms[i].List.AppendSegments(c.segments[:0]); err != nil {
			return 0, err
		}
		for j := range c.segments {
			if c.docIDs, err = q.Index.AppendDocIDs(c.docIDs[:0], &c.segments[j]); err != nil {
				return 0, err
			}
			for _, d := range c.docIDs {
				c.words[d/64] |= 1 << (d % 64)
			}
		}
	}
	return ones(c.words, nil), nil
}
