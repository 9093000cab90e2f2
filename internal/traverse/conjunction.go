package traverse

import (
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// conjunction intersects lists pairwise, small versus small, without pruning: the shortest
// list's postings are looked up in the next longer one, the matches in the one after that
// (Demaine, López-Ortiz and Munro, "Adaptive set intersections, unions, and differences", SODA
// 2000). merge, svs-binary and svs-gallop differ in the search within a list.
//
// We differ: one block of the shortest list at a time goes through all lists, so that
// intermediate results stay in the first-level cache and contributions are added while
// frequencies are at hand.
type conjunction struct {
	legs []*legState // in increasing order of DocFreq

	// Remaining postings of a block of legs[0]: DocIDs, positions in the block, sums of
	// contributions.
	n      int
	docIDs [codec.BlockLen]uint32
	at     [codec.BlockLen]uint8
	sums   [codec.BlockLen]base.Score

	// Matches in a block of the searched list: index in docIDs, position in the block.
	matchOf, matchAt [codec.BlockLen]uint8
	kept             int // number of docIDs kept by the search of this list
}

// search looks for x.docIDs[:x.n] in a list. It calls x.match for each block with matches and
// their number; x.matchOf and x.matchAt have them, in increasing order. DocIDs increase from
// call to call, and between the shortest list's blocks.
type search func(x *conjunction, l *legState)

func runConjunction(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue, find search) error {
	if err := q.check(); err != nil {
		return err
	}
	s.open(q)
	if s.conjunction == nil {
		s.conjunction = new(conjunction)
	}
	return s.close(s.conjunction.run(stop, s, q, queue, find))
}

func (x *conjunction) run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue, find search) error {
	x.legs = x.legs[:0]
	for i := range s.legs {
		x.legs = append(x.legs, &s.legs[i])
	}
	if len(x.legs) == 0 {
		return nil
	}
	slices.SortFunc(x.legs, byDocFreq)
	p := poll{stop: stop}
	shortest := &x.legs[0].cursor
	for shortest.NextBlock() != base.NoDocID {
		x.n = copy(x.docIDs[:], shortest.BlockDocIDs())
		for i := range x.n {
			x.at[i] = uint8(i)
		}
		clear(x.sums[:x.n])
		looked := 1 // blocks, at most
		for _, l := range x.legs[1:] {
			x.kept = 0
			looked += x.n
			find(x, l)
			x.n = x.kept
			s.Stats.PostingsScored += int64(x.n)
			if x.n == 0 {
				break
			}
		}
		x.finish(s, q, queue)
		if err := p.after(looked * codec.BlockLen); err != nil {
			return err
		}
	}
	return nil
}

// match keeps only the candidates found in the list's current block, matches of them,
// and adds its contributions.
func (x *conjunction) match(l *legState, matches int) {
	for m := range matches {
		of := x.matchOf[m&127] & 127
		d := x.docIDs[of]
		sum := x.sums[of] + l.Term.Score(l.cursor.BlockFreq(int(x.matchAt[m&127])), l.Lengths[d])
		x.docIDs[x.kept&127], x.at[x.kept&127], x.sums[x.kept&127] = d, x.at[of], sum
		x.kept++
	}
}

// finish adds the shortest list's contributions and queues the documents.
func (x *conjunction) finish(s *Scratch, q *Query, queue *topk.Queue) {
	l := x.legs[0]
	for i, d := range x.docIDs[:x.n] {
		if !q.live(d) {
			continue
		}
		s.Stats.Candidates++
		s.Stats.PostingsScored++
		sum := x.sums[i] + l.Term.Score(l.cursor.BlockFreq(int(x.at[i])), l.Lengths[d])
		queue.Add(base.Hit{DocID: q.Base + base.DocID(d), Score: sum})
	}
}
