package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
)

// phraseIterator yields the documents with the terms of a phrase at their offsets, scored like
// a term with the frequency of the phrase. It intersects the terms' lists, shortest first, or is told
// the documents with all terms, and reads positions only in these.
type phraseIterator struct {
	cursors []phraseCursor // one for each distinct term
	order   []int          // of cursors, rarest term first
	slots   []phraseSlot   // one for each position of the phrase, rarest term first
	starts  []uint32       // positions in the current document at which the phrase may begin
	doc     base.DocID
	slop    uint32
	sloppy  sloppyMatcher // with slop
	freq    float32       // with slop, in the current document

	// within yields the documents with all terms of which it need not yield others; nil: all.
	within iterator
	docs   docsIterator // within, or
	bits   bitsIterator

	scorer   score.Term
	lengths  []uint32
	maxScore base.Score
	scored   int64
	pulse    *pulse
}

var _ iterator = (*phraseIterator)(nil)

type phraseCursor struct {
	postings.Cursor
	term      int // index in the plan
	docFreq   int
	positions []uint32 // in document readAt
	readAt    base.DocID

	alternative bool
	others      []postings.Cursor // of other terms at the same position
}

type phraseSlot struct {
	cursor int // index into cursors
	offset uint32
	order  int // in the phrase
}

func (p *phraseIterator) begin(pulse *pulse, slop uint32) {
	*p = phraseIterator{
		cursors: p.cursors[:0], order: p.order[:0], slots: p.slots[:0], starts: p.starts[:0],
		doc: base.NoDocID, maxScore: math.MaxUint64, pulse: pulse, slop: slop, sloppy: p.sloppy,
	}
}

// add adds a leg's non-empty term; the legs give the phrase its scorer and bound. alternative: others may
// follow for the same position.
func (p *phraseIterator) add(term int, offset uint32, leg *traverse.Leg, alternative bool) {
	p.scorer, p.lengths = leg.Term, leg.Lengths
	switch {
	case p.slop > 0: // a term may take part in several matches
		p.maxScore = min(p.maxScore, leg.Scale.Upper(score.MaxBound))
	case !alternative:
		p.maxScore = min(p.maxScore, leg.MaxScore)
	}
	i := -1
	if !alternative {
		i = slices.IndexFunc(p.cursors, func(c phraseCursor) bool { return c.term == term })
	}
	if i < 0 {
		i = len(p.cursors)
		p.cursors = slices.Grow(p.cursors, 1)[:i+1] // reuses the memory of an earlier phrase
		c := &p.cursors[i]
		c.Reset(leg.List, leg.Bounds)
		c.term, c.docFreq, c.readAt = term, int(leg.List.DocFreq), base.NoDocID
		c.alternative, c.others = alternative, c.others[:0]
	}
	p.slots = append(p.slots, phraseSlot{cursor: i, offset: offset, order: len(p.slots)})
}

// alternatives reports whether the last cursor is one of alternatives.
func (p *phraseIterator) alternatives() bool {
	return len(p.cursors) > 0 && p.cursors[len(p.cursors)-1].alternative
}

func (p *phraseIterator) addAlternative(leg *traverse.Leg) {
	c := &p.cursors[len(p.cursors)-1]
	c.others = slices.Grow(c.others, 1)[:len(c.others)+1]
	c.others[len(c.others)-1].Reset(leg.List, leg.Bounds)
	c.docFreq += int(leg.List.DocFreq)
}

// NextGEQ moves all alternatives.
func (c *phraseCursor) NextGEQ(target base.DocID) base.DocID {
	doc := c.Cursor.NextGEQ(target)
	for i := range c.others {
		doc = min(doc, c.others[i].NextGEQ(target))
	}
	return doc
}

// read reads the positions in doc, where at least one alternative stands.
func (c *phraseCursor) read(doc base.DocID) (err error) {
	c.readAt, c.positions = doc, c.positions[:0]
	if len(c.others) == 0 {
		c.positions, err = c.Positions(c.positions)
		return err
	}
	if c.DocID() == doc {
		if c.positions, err = c.Positions(c.positions); err != nil {
			return err
		}
	}
	for i := range c.others {
		if o := &c.others[i]; o.DocID() == doc {
			if c.positions, err = o.Positions(c.positions); err != nil {
				return err
			}
		}
	}
	slices.Sort(c.positions)
	return nil
}

// finish adds the work to w and returns the first error.
func (c *phraseCursor) finish(w *Work) error {
	failed := c.Err()
	w.Add(cursorWork(&c.Cursor))
	for i := range c.others {
		w.Add(cursorWork(&c.others[i]))
		if err := c.others[i].Err(); failed == nil {
			failed = err
		}
	}
	return failed
}

func cursorWork(c *postings.Cursor) Work {
	stats := c.Stats()
	return Work{
		PostingsDecoded: int64(stats.PostingsDecoded),
		BlocksDecoded:   int64(stats.BlocksDecoded), BlocksSkipped: int64(c.NumBlocks() - stats.BlocksDecoded),
	}
}

// The result does not depend on the order of ties.
func (p *phraseIterator) sortByRarity() {
	rarer := func(a, b int) int { return cmp.Compare(p.cursors[a].docFreq, p.cursors[b].docFreq) }
	base.SortFew(p.slots, func(a, b phraseSlot) int { return rarer(a.cursor, b.cursor) })
	for i := range p.cursors {
		p.order = append(p.order, i)
	}
	base.SortFew(p.order, rarer)
}

func (p *phraseIterator) DocID() base.DocID    { return p.doc }
func (p *phraseIterator) MaxScore() base.Score { return p.maxScore }
func (p *phraseIterator) Cost() int            { return p.cursors[p.order[0]].docFreq }

func (p *phraseIterator) Score() base.Score {
	p.scored++
	s := p.scoreOf(p.lengths[p.doc])
	invariant.Check(s <= p.maxScore, "phrase score %d of document %d above MaxScore %d", s, p.doc, p.maxScore)
	return s
}

func (p *phraseIterator) scoreOf(length uint32) base.Score {
	if p.slop > 0 {
		return p.scorer.ScoreOf(p.freq, length)
	}
	return p.scorer.Score(uint32(len(p.starts)), length)
}

func (p *phraseIterator) NextGEQ(target base.DocID) base.DocID {
	if p.doc != base.NoDocID && p.doc >= target {
		return p.doc
	}
	for {
		doc := p.nextWithTerms(target)
		if doc == base.NoDocID {
			p.doc = doc
			return doc
		}
		if p.confirms(doc) {
			return doc
		}
		target = doc + 1
	}
}

// approach moves to the first document >= target with all terms. The iterator matches it only if confirms is true.
func (p *phraseIterator) approach(target base.DocID) base.DocID {
	if p.doc != base.NoDocID && p.doc >= target {
		return p.doc
	}
	return p.nextWithTerms(target)
}

// confirms reads the positions in doc, where approach stands, and moves to it if the phrase is in it.
func (p *phraseIterator) confirms(doc base.DocID) bool {
	if p.doc != doc {
		if !p.matches(doc) {
			return false
		}
		p.doc = doc
	}
	return true
}

// among limits the documents to d, which have all terms.
func (p *phraseIterator) among(d *documents) {
	if d.words == nil {
		p.docs = docsIterator{docs: d.docs, doc: base.NoDocID, count: d.count}
		p.within = &p.docs
		return
	}
	p.bits = bitsIterator{words: d.words, doc: base.NoDocID, count: d.count}
	p.within = &p.bits
}

// nextWithTerms moves all cursors to the first document >= target with all terms.
func (p *phraseIterator) nextWithTerms(target base.DocID) base.DocID {
	if p.within == nil {
		return p.align(target)
	}
	for {
		doc := p.within.NextGEQ(target)
		if doc == base.NoDocID || p.pulse.stopped() {
			return base.NoDocID
		}
		target = doc
		for _, i := range p.order {
			target = max(target, p.cursors[i].NextGEQ(doc))
		}
		if target == doc {
			return doc
		}
	}
}

// align moves all cursors to their first common document >= target.
func (p *phraseIterator) align(target base.DocID) base.DocID {
	for i := 0; i < len(p.order); {
		if p.pulse.stopped() {
			return base.NoDocID
		}
		c := &p.cursors[p.order[i]]
		switch doc := c.NextGEQ(target); {
		case doc == base.NoDocID:
			return base.NoDocID
		case doc == target:
			i++
		case i == 0:
			target, i = doc, 1
		default:
			target, i = doc, 0
		}
	}
	return target
}

// matches collects the starts of the phrase in doc, where all cursors stand.
func (p *phraseIterator) matches(doc base.DocID) bool {
	p.starts = p.starts[:0]
	for i, slot := range p.slots {
		c := &p.cursors[slot.cursor]
		if c.readAt != doc {
			if err := c.read(doc); err != nil {
				p.pulse.fail(err)
				return false
			}
		}
		if p.slop > 0 {
			continue
		}
		if i == 0 {
			for _, position := range c.positions {
				if position >= slot.offset {
					p.starts = append(p.starts, position-slot.offset)
				}
			}
		} else {
			p.starts = keepFollowed(p.starts, c.positions, slot.offset)
		}
		if len(p.starts) == 0 {
			return false
		}
	}
	if p.slop > 0 {
		p.freq = p.sloppy.frequency(p)
		return p.freq > 0
	}
	return true
}

// keepFollowed keeps, in place, the starts with start+offset in positions. Both slices are
// sorted.
func keepFollowed(starts, positions []uint32, offset uint32) []uint32 {
	kept := starts[:0]
	i := 0
	for _, start := range starts {
		want := uint64(start) + uint64(offset)
		for i < len(positions) && uint64(positions[i]) < want {
			i++
		}
		if i == len(positions) {
			break
		}
		if uint64(positions[i]) == want {
			kept = append(kept, start)
		}
	}
	return kept
}
