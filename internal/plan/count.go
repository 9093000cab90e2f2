package plan

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/saat"
)

// counter counts the matches of flat queries with reused bitmaps. It reads every posting and
// scores none.
type counter struct {
	words, next []uint64
	cursor      postings.Cursor
	order       []int
	segments    []impact.Segment
	docIDs      []base.DocID
}

func (c *counter) flat(r *stageRun, segment int, w *Work) (int64, error) {
	st, legs := r.st, r.st.Legs(segment)
	c.order = c.order[:0]
	for i := range legs {
		if legs[i].List.DocFreq > 0 {
			c.order = append(c.order, i)
		}
	}
	if len(c.order) == 0 || st.conjunctive && len(c.order) < len(legs) {
		return 0, nil
	}
	live, err := r.sc.mask.without(&r.plan.words, st, segment, w)
	if err != nil {
		return 0, err
	}
	numDocs := r.plan.planner.snapshot.Segments[segment].NumDocs()
	c.words = cleared(c.words, numDocs)
	for n, i := range c.order {
		into := c.words
		if st.conjunctive && n > 0 {
			c.next = cleared(c.next, numDocs)
			into = c.next
		}
		if err := c.mark(into, legs[i].List, w); err != nil {
			return 0, fmt.Errorf("term %q: %w", r.plan.words.terms[st.leaves[i].(*leaf).terms[0]].bytes, err)
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

// cleared returns zeroed words for numDocs documents, reusing words.
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

func (c *counter) impacts(q *saat.Query) (int64, error) {
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
