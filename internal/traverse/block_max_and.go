package traverse

import (
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// blockMaxAnd intersects lists document at a time with block bounds (Ding and Suel, "Faster
// top-k document retrieval using block-max indexes", SIGIR 2011, §5). For the shortest list's
// next document, all lists find their blocks without decoding them; if the sum of the bounds is
// too low, the search continues after the first of these blocks to end. Otherwise the lists
// advance to it, shortest first; the first that skips past it gives the next candidate.
//
// We differ: where a list's directory has no posting before its next block, the search
// continues there.
type blockMaxAnd struct{}

var _ Traversal = blockMaxAnd{}

func (blockMaxAnd) Name() string { return "block-max-and" }

func (blockMaxAnd) Mode() Mode { return And }

func (b blockMaxAnd) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	legs := s.open(q)
	lists := s.lists[:0]
	for i := range legs {
		lists = append(lists, &legs[i])
	}
	s.lists = lists
	slices.SortFunc(lists, byDocFreq)
	if len(lists) == 0 || lists[0].List.DocFreq == 0 {
		return s.close(nil)
	}
	for _, l := range lists {
		l.shallow(0)
	}
	return s.close(b.run(stop, s, q, queue))
}

func (b blockMaxAnd) run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	lists := s.lists
	need := max(q.Threshold, queue.Need())
	if len(lists) == 1 {
		need = max(need, lists[0].kthScore(q, queue.K()))
	}
	p := poll{stop: stop}
	for doc := base.DocID(0); int64(doc) < int64(q.NumDocs); {
		if err := p.after(len(lists)); err != nil {
			return err
		}
		bound, end, first := blocksOfAll(lists, doc)
		switch {
		case first > doc:
			doc = first
			continue
		case bound < need:
			doc = end + 1
			continue
		}
		if err := p.after(len(lists) * codec.BlockLen); err != nil {
			return err
		}
		if next := meet(lists, doc); next > doc {
			doc = next
			continue
		}
		if q.live(uint32(doc)) {
			need = scoreAll(s, q, queue, doc, bound, need)
		}
		doc++
	}
	return nil
}

// blocksOfAll sums the bounds of the lists' blocks at doc, constant up to end, with first =
// doc. If a directory has no posting at doc, first is its next possible DocID, or NoDocID, and
// the rest is undefined.
func blocksOfAll(lists []*legState, doc base.DocID) (bound base.Score, end, first base.DocID) {
	end = base.NoDocID - 1
	for _, l := range lists {
		if l.last < doc {
			l.shallow(doc)
		}
		if l.first > doc {
			return 0, 0, l.first
		}
		bound += l.bound
		end = min(end, l.last)
	}
	return bound, end, doc
}

// meet moves the lists to doc, and returns the next DocID that all may contain.
func meet(lists []*legState, doc base.DocID) base.DocID {
	for _, l := range lists {
		if next := l.cursor.NextGEQ(doc); next > doc {
			return next
		}
	}
	return doc
}

// scoreAll scores doc, at which all lists are, until bound, its upper bound, falls below need,
// and returns the new need.
func scoreAll(s *Scratch, q *Query, queue *topk.Queue, doc base.DocID, bound, need base.Score) base.Score {
	for _, l := range s.lists {
		bound = bound - l.bound + l.Term.Score(l.cursor.Freq(), l.Lengths[doc])
		s.Stats.PostingsScored++
		if bound < need {
			return need
		}
	}
	s.Stats.Candidates++
	queue.Add(base.Hit{DocID: q.Base + doc, Score: bound})
	return max(need, queue.Need())
}
