package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// blockMaxWand is WAND with block bounds (Ding and Suel, "Faster top-k document retrieval using
// block-max indexes", SIGIR 2011, §4.1). At a pivot by MaxScores, the lists up to it find their
// blocks without decoding (NextShallow), and their bounds are summed (CheckBlockMax). If they
// reach the threshold, it continues like WAND, and stops scoring a document whose partial score
// plus the remaining bounds is too low. Otherwise no document can enter before the first of the
// blocks ends or the next list begins; the list with the greatest MaxScore skips there
// (GetNewCandidate).
//
// We differ: blocks also have a first DocID, so a list contributes 0 between blocks; and the
// threshold starts as in maxscore.
type blockMaxWand struct{}

var _ Traversal = blockMaxWand{}

func (blockMaxWand) Name() string { return "block-max-wand" }

func (blockMaxWand) Mode() Mode { return Or }

func (blockMaxWand) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	legs := s.open(q)
	for i := range legs {
		legs[i].shallow(0)
	}
	need := firstNeed(legs, q, queue)
	s.order.start(legs)
	return s.close(runBlockMaxWand(stop, s, q, queue, need))
}

// The loop of block-max-wand and variable-block-max-wand. Each leg has a current block: DocIDs
// from first to last contribute at most bound; there are no postings between the cursor and
// first.
func runBlockMaxWand(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue, need base.Score) error {
	o := &s.order
	poll := poll{stop: stop}
	for {
		p, doc := o.pivot(need)
		if doc == base.NoDocID {
			return nil
		}
		bound, end := o.blockBound(p, doc)
		switch {
		case bound < need:
			// The bound is valid up to end, or until another list begins.
			target := end + 1
			if p+1 < len(o.heads) {
				target = min(target, o.heads[p+1].doc)
			}
			o.nextGEQ(o.strongest(p+1, doc+1), target)
		case o.heads[0].doc < doc:
			o.nextGEQ(o.strongest(p, doc), doc)
		default:
			if q.live(uint32(doc)) {
				need = o.scoreBounded(s, q, queue, p, bound, need)
			}
			o.next(p + 1)
		}
		if err := poll.after(p + 1); err != nil {
			return err
		}
	}
}

// blockBound sums the bounds of the blocks at doc of the lists up to p. The sum is valid
// up to DocID end.
func (o *docOrder) blockBound(p int, doc base.DocID) (bound base.Score, end base.DocID) {
	end = base.NoDocID - 1
	for i := range o.heads[:p+1] {
		l := o.heads[i].leg
		if l.last < doc {
			l.blockAt(doc)
		}
		if l.first > doc {
			end = min(end, l.first-1)
			continue
		}
		bound += l.bound
		end = min(end, l.last)
	}
	return bound, end
}

// scoreBounded scores the document of the lists up to p until bound, its upper bound, falls
// below need, and returns the new need.
func (o *docOrder) scoreBounded(s *Scratch, q *Query, queue *topk.Queue, p int, bound, need base.Score) base.Score {
	doc := o.heads[0].doc
	for i := range o.heads[:p+1] {
		l := o.heads[i].leg
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

// blockAt sets first, last and bound to the (variable) block with the first posting from doc
// on, which must not decrease. Without one, first is NoDocID.
func (l *legState) blockAt(doc base.DocID) {
	if l.variable != nil {
		l.nextVariable(doc)
		return
	}
	l.shallow(doc)
}
