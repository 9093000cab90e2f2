package plan

import (
	"cmp"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// conjunction yields the documents of all children. It reads positions only in documents with the words of all
// phrases that also match the other children.
type conjunction struct {
	children []iterator // two or more, by rising Cost
	phrases  bool       // are among children
	doc      base.DocID
	maxScore base.Score
	pulse    *pulse
}

var _ pruner = (*conjunction)(nil)

// reset owns children and starts before their first document.
func (c *conjunction) reset(children []iterator, p *pulse) {
	slices.SortStableFunc(children, func(a, b iterator) int { return cmp.Compare(a.Cost(), b.Cost()) })
	*c = conjunction{children: children, doc: base.NoDocID, pulse: p}
	for _, child := range children {
		c.maxScore += child.MaxScore()
		_, phrase := child.(*phraseIterator)
		c.phrases = c.phrases || phrase
	}
}

func (c *conjunction) DocID() base.DocID    { return c.doc }
func (c *conjunction) MaxScore() base.Score { return c.maxScore }
func (c *conjunction) Cost() int            { return c.children[0].Cost() }

func (c *conjunction) NextGEQ(target base.DocID) base.DocID {
	c.doc = c.align(target)
	for c.phrases && c.doc != base.NoDocID && !c.confirmed() {
		if c.pulse.stopped() {
			c.doc = base.NoDocID
			break
		}
		c.doc = c.align(c.doc + 1)
	}
	return c.doc
}

// align moves to the first document >= target that all children but phrases match, and that has the words of these.
func (c *conjunction) align(target base.DocID) base.DocID {
	doc := approach(c.children[0], target)
	for i := 1; i < len(c.children) && doc != base.NoDocID; {
		if c.pulse.stopped() {
			return base.NoDocID
		}
		d := approach(c.children[i], doc)
		switch d {
		case base.NoDocID:
			return base.NoDocID
		case doc:
			i++
		default:
			doc, i = approach(c.children[0], d), 1
		}
	}
	return doc
}

func approach(it iterator, target base.DocID) base.DocID {
	if p, ok := it.(*phraseIterator); ok {
		return p.approach(target)
	}
	return it.NextGEQ(target)
}

// matchesAt reports whether it matches doc, which is at least its DocID. It reads positions in no other document.
func matchesAt(it iterator, doc base.DocID) bool {
	p, ok := it.(*phraseIterator)
	return approach(it, doc) == doc && (!ok || p.confirms(doc))
}

func (c *conjunction) confirmed() bool {
	for _, child := range c.children {
		if p, ok := child.(*phraseIterator); ok && !p.confirms(c.doc) {
			return false
		}
	}
	return true
}

func (c *conjunction) Score() base.Score {
	var s base.Score
	for _, child := range c.children {
		s += child.Score()
	}
	return s
}

// SetNeed requires from each child the need minus the maximum of the others.
func (c *conjunction) SetNeed(need base.Score) {
	for _, child := range c.children {
		setNeed(child, need, c.maxScore-child.MaxScore())
	}
}

// setNeed lets it prune for a total score of need, to which others contribute at most rest.
func setNeed(it iterator, need, rest base.Score) {
	if p, ok := it.(pruner); ok && need > rest {
		p.SetNeed(need - rest)
	}
}

type exclusion struct {
	included, excluded iterator
	pulse              *pulse
}

var _ pruner = (*exclusion)(nil)

func (e *exclusion) DocID() base.DocID    { return e.included.DocID() }
func (e *exclusion) Score() base.Score    { return e.included.Score() }
func (e *exclusion) MaxScore() base.Score { return e.included.MaxScore() }
func (e *exclusion) Cost() int            { return e.included.Cost() }

func (e *exclusion) NextGEQ(target base.DocID) base.DocID {
	doc := e.included.NextGEQ(target)
	for doc != base.NoDocID && matchesAt(e.excluded, doc) {
		if e.pulse.stopped() {
			return e.included.NextGEQ(base.NoDocID)
		}
		doc = e.included.NextGEQ(doc + 1)
	}
	return doc
}

// SetNeed passes need on unchanged: excluded adds no score.
func (e *exclusion) SetNeed(need base.Score) { setNeed(e.included, need, 0) }

// preference yields the documents of required and adds the score of optional where it matches.
// Once need exceeds required.MaxScore, it yields only documents in both.
type preference struct {
	required, optional iterator
	doc                base.DocID
	need               base.Score
	both               bool // need is above required.MaxScore
	pulse              *pulse
}

var _ pruner = (*preference)(nil)

func (p *preference) DocID() base.DocID    { return p.doc }
func (p *preference) MaxScore() base.Score { return p.required.MaxScore() + p.optional.MaxScore() }
func (p *preference) Cost() int            { return p.required.Cost() }

func (p *preference) SetNeed(need base.Score) {
	p.need = need
	p.both = need > p.required.MaxScore()
	setNeed(p.required, need, p.optional.MaxScore())
	setNeed(p.optional, need, p.required.MaxScore())
}

func (p *preference) NextGEQ(target base.DocID) base.DocID {
	p.doc = p.required.NextGEQ(target)
	for p.both && p.doc != base.NoDocID {
		doc := p.optional.NextGEQ(p.doc)
		if doc == p.doc {
			break
		}
		if doc == base.NoDocID || p.pulse.stopped() {
			p.doc = base.NoDocID
			break
		}
		p.doc = p.required.NextGEQ(doc)
	}
	return p.doc
}

// Score adds the optional score only if the total can reach need.
func (p *preference) Score() base.Score {
	s := p.required.Score()
	if s+p.optional.MaxScore() >= p.need && matchesAt(p.optional, p.doc) {
		s += p.optional.Score()
	}
	return s
}
