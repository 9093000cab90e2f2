package exec

import (
	"context"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
)

// iterator yields the documents of a segment that a node matches, in rising
// DocID order. It begins before the first one; NextGEQ is the first call. When
// it has run out, was stopped by its pulse, or met an error, it stands at
// NoDocID for good; the run asks the pulse and the cursors which it was.
//
// The calls are dynamic, one for each document that is looked at, which flat
// queries (package traverse) avoid: a nested query spends its time in the
// cursors below and, in phrases, in positions.
type iterator interface {
	// DocID returns the current document.
	DocID() base.DocID
	// NextGEQ moves to the first match at or after target, which is at least
	// DocID, and returns it.
	NextGEQ(target base.DocID) base.DocID
	// Score returns the score of the current document, which is not NoDocID.
	Score() base.Score
	// MaxScore is at least as large as every Score.
	MaxScore() base.Score
	// Cost is at least the number of documents that NextGEQ will yield.
	Cost() int
}

// pruner is an iterator that may pass over, and need not score in full,
// documents which score less than what is needed to enter the result. The need
// only rises. SetNeed is called between two calls of NextGEQ: the score of the
// current document may be asked for afterwards too, and is then either right or
// below the need.
type pruner interface {
	iterator
	SetNeed(base.Score)
}

// pulse tells iterators when to give up: it asks the context now and then.
type pulse struct {
	ctx   context.Context //nolint:containedctx // it lives for one run only
	count uint32
	err   error
}

// pulsePeriod is how many steps lie between two looks at the context: some
// tens of microseconds.
const pulsePeriod = 1 << 10

func (p *pulse) reset(ctx context.Context) { *p = pulse{ctx: ctx} }

// stopped counts a step and reports whether the run has to end.
func (p *pulse) stopped() bool {
	p.count++
	if p.count%pulsePeriod == 0 && p.err == nil {
		p.err = p.ctx.Err()
	}
	return p.err != nil
}

// termIterator yields the documents of one list.
type termIterator struct {
	cursor   postings.Cursor
	doc      base.DocID
	scorer   score.Term
	lengths  []uint32
	maxScore base.Score
	docFreq  int
	scored   int64
}

var _ iterator = (*termIterator)(nil)

func (t *termIterator) reset(leg *traverse.Leg) {
	t.cursor.Reset(leg.List, leg.Bounds)
	t.doc = base.NoDocID
	t.scorer, t.lengths, t.maxScore = leg.Term, leg.Lengths, leg.MaxScore
	t.docFreq, t.scored = int(leg.List.DocFreq), 0
}

func (t *termIterator) DocID() base.DocID { return t.doc }

func (t *termIterator) NextGEQ(target base.DocID) base.DocID {
	t.doc = t.cursor.NextGEQ(target)
	return t.doc
}

func (t *termIterator) Score() base.Score {
	freq := t.cursor.Freq()
	if freq == 0 { // the block is damaged; the run will find the cursor's error
		return 0
	}
	t.scored++
	s := t.scorer.Score(freq, t.lengths[t.doc])
	invariant.Check(s <= t.maxScore, "score %d of document %d above MaxScore %d", s, t.doc, t.maxScore)
	return s
}

func (t *termIterator) MaxScore() base.Score { return t.maxScore }
func (t *termIterator) Cost() int            { return t.docFreq }
