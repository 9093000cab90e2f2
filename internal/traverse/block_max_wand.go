package traverse

import (
	"context"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// blockMaxWand is WAND with a bound a block (Ding and Suel, "Faster top-k
// document retrieval using block-max indexes", SIGIR 2011, §4.1): when the
// MaxScores have given a pivot, the lists up to it find their blocks there,
// without decoding them (NextShallow), and the blocks' bounds are summed
// (CheckBlockMax). If they reach the threshold, it goes on as WAND does, and
// stops scoring a document as soon as its score so far and the bounds of the
// blocks left are too little. If they do not, no document can enter before the
// first of the blocks ends or the next list begins: one list skips there
// (GetNewCandidate), the one with the greatest MaxScore.
//
// We differ: a block is known by its first DocID too, so that between blocks a
// list counts nothing; and the threshold starts as in maxscore.
type blockMaxWand struct{}

var _ Traversal = blockMaxWand{}

// Name implements Traversal.
func (blockMaxWand) Name() string { return "block-max-wand" }

// Mode implements Traversal.
func (blockMaxWand) Mode() Mode { return Or }

// Run implements Traversal.
func (blockMaxWand) Run(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	legs := s.open(q)
	for i := range legs {
		legs[i].shallow(0)
	}
	need := firstNeed(legs, q, queue)
	s.order.start(legs)
	return s.close(runBlockMaxWand(ctx, s, q, queue, need))
}

// runBlockMaxWand is the loop of block-max-wand and variable-block-max-wand. Each
// leg knows a block: the DocIDs from first to last have contributions of at most
// bound, and those between the cursor and first have none.
func runBlockMaxWand(ctx context.Context, s *Scratch, q *Query, queue *topk.Queue, need base.Score) error {
	o := &s.order
	poll := poll{ctx: ctx}
	for {
		p, doc := o.pivot(need)
		if doc == base.NoDocID {
			return nil
		}
		bound, end := o.blockBound(p, doc)
		switch {
		case bound < need:
			// It is the same up to end, or until another list comes in.
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

// blockBound sums the bounds of the blocks at doc of the lists up to p, and
// returns the last DocID up to which the sum stays a bound of these lists.
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

// scoreBounded scores the document at which the lists up to p stand, as long as
// bound, which bounds its score, does not fall below need, and returns the new
// need.
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

// blockAt makes first, last and bound tell of the block, of the list or variable,
// in which the first posting at or after doc is. doc must not fall from call to
// call. Without such a block, first is NoDocID.
func (l *legState) blockAt(doc base.DocID) {
	if l.variable != nil {
		l.nextVariable(doc)
		return
	}
	l.shallow(doc)
}
