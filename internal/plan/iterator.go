package plan

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
)

// iterator yields the matching documents of a node in a segment, in DocID order. It starts
// before the first one; call NextGEQ first. At the end, after a stop by its pulse, or after an
// error, it stays at NoDocID; the pulse and the cursors have the reason.
//
// Calls are dynamic, one for each visited document: flat queries avoid this cost (package
// traverse), and nested queries spend their time in cursors and positions.
type iterator interface {
	DocID() base.DocID
	// NextGEQ moves to the first match >= target, which is at least DocID.
	NextGEQ(target base.DocID) base.DocID
	// DocID must not be NoDocID.
	Score() base.Score
	// MaxScore is an upper bound of Score.
	MaxScore() base.Score
	// Cost is an upper bound of the number of documents.
	Cost() int
}

// pruner is an iterator that may skip documents that cannot reach the rising need. SetNeed is
// called between calls of NextGEQ. The score of the current document is then either exact or
// below the need.
type pruner interface {
	iterator
	SetNeed(base.Score)
}

type pulse struct {
	stop  traverse.Interrupt
	count uint32
	err   error
}

// pulsePeriod is the number of steps between two checks, some tens of microseconds.
const pulsePeriod = 1 << 10

func (p *pulse) reset(stop traverse.Interrupt) { *p = pulse{stop: stop} }

func (p *pulse) stopped() bool {
	p.count++
	if p.count%pulsePeriod == 0 && p.err == nil {
		p.err = p.stop.Err()
	}
	return p.err != nil
}

func (p *pulse) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

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
	if freq == 0 { // damaged block: the run reports the cursor's error
		return 0
	}
	t.scored++
	s := t.scorer.Score(freq, t.lengths[t.doc])
	invariant.Check(s <= t.maxScore, "score %d of document %d above MaxScore %d", s, t.doc, t.maxScore)
	return s
}

func (t *termIterator) MaxScore() base.Score { return t.maxScore }
func (t *termIterator) Cost() int            { return t.docFreq }
