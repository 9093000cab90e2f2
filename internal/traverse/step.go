package traverse

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/scoring"
	"github.com/griffin-search/griffin/internal/topk"
)

// Candidates are a conjunction's intermediate result: a segment's live documents in all lists
// already processed, by increasing DocID, with the sums of contributions. DocIDs and Scores have the same length.
//
// They move between processors between steps (griffin18, PPoPP 2018, §3.2).
type Candidates struct {
	DocIDs, Scores []uint32
}

// Len returns the number of candidates.
func (c *Candidates) Len() int { return len(c.DocIDs) }

// Reset empties c and keeps its memory.
func (c *Candidates) Reset() { c.DocIDs, c.Scores = c.DocIDs[:0], c.Scores[:0] }

func (c *Candidates) grow(n int) {
	c.DocIDs, c.Scores = slices.Grow(c.DocIDs, n), slices.Grow(c.Scores, n)
}

// Begin, any number of Intersect, and Finish, whose queries together have each list once, in
// any order, give the result of an And traversal for all lists. Least work results from lists
// in increasing order of length. The requirements of a Traversal apply; in addition, the sum of
// all lists' MaxScores must be below 2^32. Steps add to s.Stats, and do not allocate once s and
// the candidates have had the same size. Errors are as for Traversal.Run; after an error the
// candidates are undefined.

// Begin sets c to the documents that are in all lists of q, at least one. One block of the
// first list at a time is looked up in the others, without pruning.
func Begin(stop Interrupt, s *Scratch, q *Query, c *Candidates) error {
	c.Reset()
	x, err := s.step(q)
	if err != nil || x == nil {
		return err
	}
	p := poll{stop: stop}
	first := &x.legs[0]
	cur := &first.cursor
	for cur.NextBlock() != base.NoDocID {
		x.beginBlock(first, c)
		if err := p.after(codec.BlockLen + x.read()); err != nil {
			return s.close(err)
		}
	}
	s.Stats.Candidates += int64(c.Len())
	return s.close(nil)
}

// Intersect removes documents from c that are not in all lists of q, and adds contributions to
// the rest, without pruning.
func Intersect(stop Interrupt, s *Scratch, q *Query, c *Candidates) error {
	if err := c.check(q); err != nil {
		return err
	}
	x, err := s.step(q)
	if err != nil || x == nil {
		c.Reset()
		return err
	}
	p := poll{stop: stop}
	kept := 0
	for from := 0; from < c.Len(); from += stepLen {
		part := c.slice(from, min(from+stepLen, c.Len()))
		n := x.apply(0, &part, 0)
		copy(c.DocIDs[kept:], part.DocIDs[:n])
		copy(c.Scores[kept:], part.Scores[:n])
		kept += n
		if err := p.after(stepLen + x.read()); err != nil {
			return s.close(err)
		}
	}
	*c = c.slice(0, kept)
	s.Stats.Candidates += int64(kept)
	return s.close(nil)
}

// Finish intersects c with all lists of q (there may be none) and queues the result, or at
// least its best k. Afterwards c holds some of the matches; with all set, all of them, and all
// are queued.
func Finish(stop Interrupt, s *Scratch, q *Query, c *Candidates, queue *topk.Queue, all bool) error {
	if err := c.check(q); err != nil {
		return err
	}
	x, err := s.step(q)
	if err != nil || x == nil {
		c.Reset()
		return err
	}
	var bounds base.Score // of all lists
	for i := range x.legs {
		bounds += x.legs[i].MaxScore
	}
	p := poll{stop: stop}
	kept := 0
	for from := 0; from < c.Len(); from += stepLen {
		part := c.slice(from, min(from+stepLen, c.Len()))
		need := base.Score(0)
		if !all {
			need = max(q.Threshold, queue.Need())
		}
		n := x.apply(need, &part, bounds)
		for i, d := range part.DocIDs[:n] {
			if sum := base.Score(part.Scores[i]); q.live(d) {
				if sum >= need {
					queue.Add(base.Hit{DocID: q.Base + base.DocID(d), Score: sum})
				}
				c.DocIDs[kept], c.Scores[kept] = d, part.Scores[i]
				kept++
			}
		}
		if err := p.after(stepLen + x.read()); err != nil {
			return s.close(err)
		}
	}
	*c = c.slice(0, kept)
	s.Stats.Candidates += int64(kept)
	return s.close(nil)
}

// The bytes of stepLen candidates' blocks are prefetched together.
const stepLen = 4 * codec.BlockLen

func (c *Candidates) slice(from, to int) Candidates {
	return Candidates{DocIDs: c.DocIDs[from:to], Scores: c.Scores[from:to]}
}

// check returns an error if the candidates are not of the query's segment.
func (c *Candidates) check(q *Query) error {
	if len(c.DocIDs) != len(c.Scores) {
		return fmt.Errorf("%d candidates with %d scores: %w", len(c.DocIDs), len(c.Scores), base.ErrCorrupt)
	}
	if n := len(c.DocIDs); n > 0 && int64(c.DocIDs[n-1]) >= int64(q.NumDocs) {
		return fmt.Errorf("candidate %d of %d documents: %w", c.DocIDs[n-1], q.NumDocs, base.ErrCorrupt)
	}
	return nil
}

// Its memory is reused.
type stepper struct {
	q     *Query
	stats *Stats
	legs  []legState

	scores  [codec.BlockLen]uint32
	lookups [codec.BlockLen]lookup
	looked  int // blocks since the last call of read
	matches
}

// step opens the query's lists; it returns nil if one is empty.
func (s *Scratch) step(q *Query) (*stepper, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	for i := range q.Legs {
		if q.Legs[i].List.DocFreq == 0 {
			return nil, nil
		}
	}
	if s.stepper == nil {
		s.stepper = new(stepper)
	}
	x := s.stepper
	x.q, x.stats, x.looked = q, &s.Stats, 0
	x.legs = s.open(q)
	return x, nil
}

// read returns the postings in blocks examined since the last call.
func (x *stepper) read() int {
	n := x.looked * codec.BlockLen
	x.looked = 0
	return n
}

// beginBlock appends to c the documents of the first list's current block that are in
// all lists.
func (x *stepper) beginBlock(first *legState, c *Candidates) {
	cur := &first.cursor
	docIDs := cur.BlockDocIDs()
	c.grow(len(docIDs))
	at := c.Len()
	part := Candidates{DocIDs: c.DocIDs[at : at+len(docIDs)], Scores: c.Scores[at : at+len(docIDs)]}
	n := 0
	for _, d := range docIDs {
		part.DocIDs[n], part.Scores[n] = d, 0
		if x.q.live(d) {
			n++
		}
	}
	part = part.slice(0, n)
	for i := 1; i < len(x.legs); i++ {
		n = x.intersect(&x.legs[i], &part, 0)
		part = part.slice(0, n)
	}
	if n == 0 {
		return
	}
	// Added last, only for the remaining documents.
	_, found := scoring.Match(&x.of, &x.at, part.DocIDs, cur.Block(), uint32(cur.BlockLastDocID()))
	x.score(first, found, x.scores[:found])
	for i, s := range x.scores[:found] {
		part.Scores[i] += s
	}
	x.stats.PostingsScored += int64(found)
	*c = c.slice(0, at+n)
}

// apply intersects candidates with all lists, drops those that cannot reach need, moves the
// others to the front and returns their number. bounds is the sum of the MaxScores.
func (x *stepper) apply(need base.Score, part *Candidates, bounds base.Score) int {
	own := *part
	for i := range x.legs {
		l := &x.legs[i]
		least := base.Score(0)
		if bounds -= min(l.MaxScore, bounds); need > bounds {
			least = need - bounds
		}
		own = own.slice(0, x.intersect(l, &own, least))
	}
	return own.Len()
}

// intersect drops candidates that are not in a list, adds its contributions to the others,
// moves them to the front and returns their number. It decodes no block for a candidate whose
// sum plus the block's bound is below least: it drops it.
func (x *stepper) intersect(l *legState, c *Candidates, least base.Score) (kept int) {
	cur := &l.cursor
	n := c.Len()
	for next := 0; next < n; {
		var lookups []lookup
		lookups, next = x.find(l, c, next, least)
		x.looked += len(lookups)
		for _, g := range lookups {
			if block := int(g.block); block != cur.BlockIndex() && cur.LoadBlock(block) == base.NoDocID {
				return kept // the cursor has an error
			}
			last := uint32(cur.BlockLastDocID())
			for i := int(g.from); i < n; {
				looked, found := scoring.Match(&x.of, &x.at, c.DocIDs[i:n], cur.Block(), last)
				if found > 0 {
					x.score(l, found, x.scores[:found])
				}
				for m, of := range x.of[:found] {
					from := i + int(of)
					c.DocIDs[kept], c.Scores[kept] = c.DocIDs[from], c.Scores[from]+x.scores[m]
					kept++
				}
				x.stats.PostingsScored += int64(found)
				if i += looked; looked < codec.BlockLen {
					break
				}
			}
		}
	}
	return kept
}

// find is candidates.find.
func (x *stepper) find(l *legState, c *Candidates, from int, least base.Score) (lookups []lookup, next int) {
	cur := &l.cursor
	docIDs := c.DocIDs
	n, j := 0, from
	for j < len(docIDs) && n < len(x.lookups) {
		b, first, last, ok := cur.ShallowNextGEQ(base.DocID(docIDs[j]))
		if !ok {
			return x.lookups[:n], len(docIDs)
		}
		if first > base.DocID(docIDs[j]) || least > 0 && base.Score(c.Scores[j])+l.upper(b) < least {
			j++
			continue
		}
		block := cur.ShallowBlock()
		if block != cur.BlockIndex() {
			cur.Prefetch(block)
		}
		x.lookups[n] = lookup{block: uint32(block), from: uint32(j)}
		n++
		for j++; j+behind <= len(docIDs); { // skip the candidates in the block
			next := docIDs[j : j+behind : j+behind]
			in := atMost(next[0], last) + atMost(next[1], last) + atMost(next[2], last) + atMost(next[3], last)
			j += in
			if in < behind {
				break
			}
		}
		for ; j < len(docIDs) && base.DocID(docIDs[j]) <= last; j++ {
		}
	}
	return x.lookups[:n], j
}
