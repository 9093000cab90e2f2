package traverse

import (
	"context"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/scoring"
	"github.com/griffin-search/griffin/internal/topk"
)

// svs intersects lists pairwise, small versus small: the postings of the
// shortest list are looked up in the next longer one, what is left of them in
// the one after that, and so on (Demaine, López-Ortiz and Munro, "Adaptive set
// intersections, unions, and differences", SODA 2000; Culpepper and Moffat,
// "Efficient set intersection for inverted indexing", ACM TOIS 29(1), 2010, §2).
// Look-ups gallop through the directory and decode only blocks in which there
// can be a match.
//
// We differ: a block of the shortest list, not all of it, goes through the
// lists at a time, which needs 2 KiB and finds hits in rising DocID order; so
// that, once there are k, blocks whose bounds cannot reach the threshold are not
// decoded either (Ding and Suel, "Faster top-k document retrieval using
// block-max indexes", SIGIR 2011, §4).
type svs struct{}

var _ Traversal = svs{}

// Name implements Traversal.
func (svs) Name() string { return "svs" }

// Mode implements Traversal.
func (svs) Mode() Mode { return And }

// intersection is the state of a run of svs. Its memory is kept.
type intersection struct {
	q     *Query
	queue *topk.Queue
	stats *Stats

	need base.Score  // documents that score less cannot enter
	legs []*legState // in order of rising DocFreq

	// What is left of the postings of a block of legs[0]: DocIDs, positions in
	// the block, and sums of contributions of the lists applied so far.
	n      int
	docIDs [codec.BlockLen]uint32
	at     [codec.BlockLen]uint8
	sums   [codec.BlockLen]uint32

	scores [codec.BlockLen]uint32 // contributions of matches
	matches
}

// Run implements Traversal.
func (svs) Run(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	if !q.narrow() {
		return exhaustiveDAAT{And}.Run(ctx, s, q, queue)
	}
	legs := s.open(q)
	if s.intersection == nil {
		s.intersection = new(intersection)
	}
	x := s.intersection
	x.q, x.queue, x.stats = q, queue, &s.Stats
	err := s.close(x.run(ctx, legs))
	x.q, x.queue, x.stats = nil, nil, nil
	return err
}

func (x *intersection) run(ctx context.Context, legs []legState) error {
	x.legs = x.legs[:0]
	for i := range legs {
		if legs[i].List.DocFreq == 0 {
			return nil
		}
		x.legs = append(x.legs, &legs[i])
	}
	if len(x.legs) == 0 {
		return nil
	}
	slices.SortFunc(x.legs, byDocFreq)
	x.need = max(x.q.Threshold, x.queue.Need())
	if len(x.legs) == 1 {
		x.need = max(x.need, x.legs[0].kthScore(x.q, x.queue.K()))
	}
	p := poll{ctx: ctx}
	first := x.legs[0]
	for lo := base.DocID(0); ; {
		lo = x.nextBlock(lo)
		if lo == base.NoDocID {
			return nil
		}
		if x.load(lo) {
			for i := 1; i < len(x.legs) && x.n > 0; i++ {
				x.apply(i)
			}
			x.finish()
		}
		if first.last >= base.DocID(x.q.NumDocs) { // the list ends here, or is corrupt
			return nil
		}
		lo = first.last + 1
		if err := p.after(2 * codec.BlockLen); err != nil {
			return err
		}
	}
}

// nextBlock returns the first DocID from lo on at which, by the directories,
// every list may have a posting, and where the bounds of the lists' blocks in
// the rest of legs[0]'s block reach need; NoDocID if there is none.
func (x *intersection) nextBlock(lo base.DocID) base.DocID {
	first := x.legs[0]
search:
	for {
		if !first.shallow(lo) {
			return base.NoDocID
		}
		lo = max(lo, first.first)
		for _, l := range x.legs[1:] {
			if !l.shallow(lo) {
				return base.NoDocID
			}
			if l.first > lo {
				lo = l.first
				if lo > first.last {
					continue search
				}
			}
		}
		if x.need == 0 || x.reachable(lo) {
			return lo
		}
		if first.last >= base.DocID(x.q.NumDocs) {
			return base.NoDocID
		}
		lo = first.last + 1
	}
}

// reachable says whether a document from lo to the end of the current block of
// legs[0] may reach need, and leaves the lists' bounds there in the legs.
func (x *intersection) reachable(lo base.DocID) bool {
	first := x.legs[0]
	sum := first.bound
	for _, l := range x.legs[1:] {
		l.bound = l.MaxScore
		sum += l.bound
	}
	if sum < x.need {
		return false
	}
	span := uint64(first.last-lo) + 1
	for _, l := range x.legs[1:] {
		if span*uint64(l.cursor.NumBlocks()) > maxBlocksForBound*uint64(x.q.NumDocs) {
			continue
		}
		b := l.upper(l.cursor.ShallowMax(lo, first.last))
		sum = sum - l.bound + b
		l.bound = b
		if sum < x.need {
			return false
		}
	}
	return true
}

// load makes the postings of legs[0] from lo to the end of its block the
// candidates; false if there are none.
func (x *intersection) load(lo base.DocID) bool {
	c := &x.legs[0].cursor
	if c.NextGEQ(lo) == base.NoDocID {
		return false
	}
	from := c.BlockPos()
	docIDs := c.BlockDocIDs()
	x.n = copy(x.docIDs[:], docIDs[from:])
	for i := range x.n {
		x.at[i] = uint8(from + i)
	}
	clear(x.sums[:x.n])
	return true
}

// apply looks the candidates up in list i, drops those that are not in it or
// cannot reach need, and adds its contributions to the others.
func (x *intersection) apply(i int) {
	l := x.legs[i]
	c := &l.cursor
	// least is what a sum with this list's contribution must be.
	least := base.Score(0)
	if x.need > 0 {
		rest := x.legs[0].bound
		for _, l := range x.legs[i+1:] {
			rest += l.bound
		}
		if x.need > rest {
			least = x.need - rest
		}
	}
	last := int64(-1) // of the decoded block
	if c.DocID() != base.NoDocID {
		last = int64(c.BlockLastDocID())
	}
	kept := 0
	for j := 0; j < x.n; {
		d := base.DocID(x.docIDs[j])
		if int64(d) > last {
			b, first, _, ok := c.ShallowNextGEQ(d)
			if !ok {
				break
			}
			if first > d || least > 0 && base.Score(x.sums[j])+l.upper(b) < least {
				j++
				continue
			}
			if c.NextGEQ(d) == base.NoDocID {
				break
			}
			last = int64(c.BlockLastDocID())
		}
		looked, found := scoring.Match(&x.of, &x.matches.at, x.docIDs[j:x.n], c.Block(), uint32(last))
		if found > 0 {
			kept = x.keepMatches(l, j, found, kept, least)
		}
		j += looked
	}
	x.n = kept
}

// keepMatches adds the contributions of a list to those of the candidates from
// index from on that matched, and moves the ones that reach least to index kept,
// at most from, and those that follow. It returns the index after them.
func (x *intersection) keepMatches(l *legState, from, found, kept int, least base.Score) int {
	x.stats.PostingsScored += int64(found)
	x.score(l, found, x.scores[:found])
	for m, of := range x.of[:found] {
		i := (from + int(of)) & (codec.BlockLen - 1)
		x.docIDs[kept], x.at[kept], x.sums[kept] = x.docIDs[i], x.at[i], x.sums[i]+x.scores[m]
		if base.Score(x.sums[kept]) >= least {
			kept++
		}
	}
	return kept
}

// finish adds the contributions of legs[0], and the documents to the queue.
func (x *intersection) finish() {
	l := x.legs[0]
	for i, d := range x.docIDs[:x.n] {
		if !x.q.live(d) {
			continue
		}
		x.stats.Candidates++
		x.stats.PostingsScored++
		sum := base.Score(x.sums[i]) + l.Term.Score(l.cursor.BlockFreq(int(x.at[i])), l.Lengths[d])
		if sum >= x.need {
			x.queue.Add(base.Hit{DocID: x.q.Base + base.DocID(d), Score: sum})
			x.need = max(x.need, x.queue.Need())
		}
	}
	x.n = 0
}
