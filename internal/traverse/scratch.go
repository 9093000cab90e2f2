package traverse

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// Scratch is the memory that a run needs beside the query: cursors (1 KiB
// each) and accumulators. It is kept by its owner and used by one run at a time.
type Scratch struct {
	// Stats is added to by each run, and zeroed by the owner, or by Forget.
	Stats Stats

	legs         []legState
	accs         []base.Score    // exhaustive-taat: by DocID
	matched      []uint32        // exhaustive-taat: legs that hold the document
	maxScore     *maxScore       // block-max-maxscore
	byMaxScore   listsByMaxScore // maxscore
	order        docOrder        // wand and its descendants
	conjunction  *conjunction    // merge, svs-binary, svs-gallop
	lists        []*legState     // block-max-and: in order of rising DocFreq
	contracted   *contracted     // linear-regression, hash-segmentation, interpolation
	intersection *intersection   // svs
	pruning      *pruning        // block-max-pruning
	stepper      *stepper        // steps
}

// legState is a leg while it is traversed.
type legState struct {
	*Leg
	index  int // in Query.Legs
	term   scoring.Term
	cursor postings.Cursor

	// Algorithms with block bounds: a block, and the bound of its contributions;
	// in block-max-maxscore, the block at the window's start and the bound in
	// the window.
	first, last base.DocID
	bound       base.Score

	// variable-block-max-wand: the variable blocks, the one that first, last and
	// bound tell of, and the scale of their bounds. nil in other runs.
	variable      *variableBlocks
	variableAt    int
	variableScale score.Scale
}

// open makes s.legs the legs of q with cursors before their first postings.
func (s *Scratch) open(q *Query) []legState {
	n := len(q.Legs)
	if cap(s.legs) < n {
		s.legs = make([]legState, n)
	}
	s.legs = s.legs[:n]
	for i := range s.legs {
		l := &s.legs[i]
		l.Leg, l.index = &q.Legs[i], i
		l.variable = nil
		l.term = scoring.Term(l.Term)
		l.cursor.Reset(l.List, l.Bounds)
	}
	return s.legs
}

// Forget zeroes s.Stats and lets go of the last run's query. Its memory stays for the next
// one, whoever's that is; cursors keep pointing to the lists until then.
func (s *Scratch) Forget() {
	s.Stats = Stats{}
	for i := range s.legs {
		s.legs[i].Leg, s.legs[i].variable = nil, nil
	}
	if s.stepper != nil {
		s.stepper.q = nil
	}
}

// close adds the cursors' counters to s.Stats and returns the error of a cursor,
// with its leg, if one has failed; or else err.
func (s *Scratch) close(err error) error {
	for i := range s.legs {
		l := &s.legs[i]
		c := l.cursor.Stats()
		s.Stats.BlocksDecoded += int64(c.BlocksDecoded)
		s.Stats.BlocksSkipped += int64(l.cursor.NumBlocks() - c.BlocksDecoded)
		s.Stats.PostingsDecoded += int64(c.PostingsDecoded)
		if e := l.cursor.Err(); e != nil {
			err = fmt.Errorf("leg %d: %w", l.index, e)
		}
	}
	return err
}

// pollEvery is how many postings, about, lie between two looks at the context.
const pollEvery = 1 << 14

// poll looks at a context now and then.
type poll struct {
	ctx  context.Context
	left int
}

// after counts n postings, and returns the context's error if it has ended.
func (p *poll) after(n int) error {
	p.left -= n
	if p.left > 0 {
		return nil
	}
	p.left = pollEvery
	return p.ctx.Err()
}
