package traverse

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// Scratch is the working memory of one run at a time: cursors (1 KiB each) and accumulators.
type Scratch struct {
	// Each run adds to Stats; the owner, or Forget, zeroes it.
	Stats Stats

	ranged       bool // the run is of a range: others skip or decode the rest of the blocks
	legs         []legState
	accs         []base.Score    // exhaustive-taat: by DocID
	matched      []uint32        // exhaustive-taat: number of legs that contain the document
	maxScore     *maxScore       // block-max-maxscore
	byMaxScore   listsByMaxScore // maxscore
	scored       scoredLists     // merged-scores
	order        docOrder        // wand and its descendants
	conjunction  *conjunction    // merge, svs-binary, svs-gallop
	lists        []*legState     // block-max-and: in increasing order of DocFreq
	contracted   *contracted     // linear-regression, hash-segmentation, interpolation
	intersection *intersection   // svs
	pruning      *pruning        // block-max-pruning
	windows      *windows        // windowed-taat
	stepper      *stepper        // steps, look-up
	lookUps      *lookUps        // look-up
}

type legState struct {
	*Leg
	index  int // in Query.Legs
	term   scoring.Term
	cursor postings.Cursor

	// Algorithms with block bounds: a block (in block-max-maxscore, at the window's start) and
	// the bound of its contributions (there: in the window).
	first, last base.DocID
	bound       base.Score
	located     score.Bound // svs: the block's

	// variable-block-max-wand: the variable blocks, the current one, and the scale of their
	// bounds. nil in other runs.
	variable      *variableBlocks
	variableAt    int
	variableScale score.Scale
}

// open sets s.legs to the legs of q, with cursors before their first postings.
func (s *Scratch) open(q *Query) []legState {
	n := len(q.Legs)
	s.ranged = q.To > 0
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

// Forget zeroes s.Stats and releases the last run's query, but cursors point to the old lists
// until the next run.
func (s *Scratch) Forget() {
	s.Stats = Stats{}
	for i := range s.legs {
		s.legs[i].Leg, s.legs[i].variable = nil, nil
	}
	if s.stepper != nil {
		s.stepper.q = nil
	}
}

// close adds the cursors' counters to s.Stats and returns a failed cursor's error, with its
// leg, or err.
func (s *Scratch) close(err error) error {
	for i := range s.legs {
		l := &s.legs[i]
		c := l.cursor.Stats()
		s.Stats.BlocksDecoded += int64(c.BlocksDecoded)
		if !s.ranged {
			s.Stats.BlocksSkipped += int64(l.cursor.NumBlocks() - c.BlocksDecoded)
		}
		s.Stats.PostingsDecoded += int64(c.PostingsDecoded)
		if e := l.cursor.Err(); e != nil {
			err = fmt.Errorf("leg %d: %w", l.index, e)
		}
	}
	return err
}

// Postings between two checks, approximately.
const pollEvery = 1 << 14

type poll struct {
	stop Interrupt
	left int
}

// after counts n postings. About every pollEvery postings it returns the error of stop.
func (p *poll) after(n int) error {
	p.left -= n
	if p.left > 0 {
		return nil
	}
	p.left = pollEvery
	return p.stop.Err()
}
