package plan

import (
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// constantIterator yields the documents of an iterator with a constant score.
type constantIterator struct {
	iterator
	score base.Score
}

var _ iterator = (*constantIterator)(nil)

func (c *constantIterator) Score() base.Score    { return c.score }
func (c *constantIterator) MaxScore() base.Score { return c.score }

// bitsIterator yields the documents of a bitmap with a constant score.
type bitsIterator struct {
	words []uint64
	doc   base.DocID
	least base.DocID // doc once there is one: a lower target does not go back
	score base.Score
	count int
}

var _ iterator = (*bitsIterator)(nil)

func (b *bitsIterator) DocID() base.DocID    { return b.doc }
func (b *bitsIterator) Score() base.Score    { return b.score }
func (b *bitsIterator) MaxScore() base.Score { return b.score }
func (b *bitsIterator) Cost() int            { return b.count }

func (b *bitsIterator) NextGEQ(target base.DocID) base.DocID {
	b.doc = b.next(max(target, b.least))
	b.least = b.doc
	return b.doc
}

func (b *bitsIterator) next(target base.DocID) base.DocID {
	i := int(target / 64)
	if i >= len(b.words) {
		return base.NoDocID
	}
	w := b.words[i] >> (target % 64) << (target % 64)
	for w == 0 {
		if i++; i == len(b.words) {
			return base.NoDocID
		}
		w = b.words[i]
	}
	return base.DocID(64*i + bits.TrailingZeros64(w))
}

// docsIterator yields the documents of a list with a constant score.
type docsIterator struct {
	docs  []uint32 // the rest, from doc on
	doc   base.DocID
	score base.Score
	count int
}

var _ iterator = (*docsIterator)(nil)

func (d *docsIterator) DocID() base.DocID    { return d.doc }
func (d *docsIterator) Score() base.Score    { return d.score }
func (d *docsIterator) MaxScore() base.Score { return d.score }
func (d *docsIterator) Cost() int            { return d.count }

func (d *docsIterator) NextGEQ(target base.DocID) base.DocID {
	step := 1
	for step < len(d.docs) && base.DocID(d.docs[step]) < target {
		step *= 2
	}
	from := step / 2
	at, _ := slices.BinarySearch(d.docs[from:min(step, len(d.docs))], uint32(target))
	d.docs = d.docs[from+at:]
	d.doc = base.NoDocID
	if len(d.docs) > 0 {
		d.doc = base.DocID(d.docs[0])
	}
	return d.doc
}

// alternatives yields the documents of at least one child, without pruning. Its users score them.
type alternatives struct {
	children []iterator
	doc      base.DocID
	started  bool
	pulse    *pulse
	cost     int
}

func (a *alternatives) reset(children []iterator, p *pulse) {
	*a = alternatives{children: children, doc: base.NoDocID, pulse: p}
	for _, c := range children {
		a.cost += c.Cost()
	}
}

func (a *alternatives) DocID() base.DocID { return a.doc }
func (a *alternatives) Cost() int         { return a.cost }

func (a *alternatives) NextGEQ(target base.DocID) base.DocID {
	if a.doc != base.NoDocID && a.doc >= target {
		return a.doc
	}
	next := base.NoDocID
	if a.pulse.stopped() {
		a.doc = next
		return next
	}
	for _, c := range a.children {
		doc := c.DocID()
		if !a.started || doc < target {
			doc = c.NextGEQ(target)
		}
		next = min(next, doc)
	}
	a.started = true
	a.doc = next
	return next
}

// disMaxIterator scores by the best child, and tie times the others.
type disMaxIterator struct {
	alternatives
	tie      float64
	maxScore base.Score
}

var _ iterator = (*disMaxIterator)(nil)

func (d *disMaxIterator) reset(children []iterator, tie float64, p *pulse) {
	d.alternatives.reset(children, p)
	d.tie = tie
	var best, sum base.Score
	for _, c := range children {
		best = max(best, c.MaxScore())
		sum += c.MaxScore()
	}
	d.maxScore = best + scaled(sum-best, tie) + base.Score(len(children)) // each product is rounded
	if tie == 0 {
		d.maxScore = best
	}
}

func (d *disMaxIterator) MaxScore() base.Score { return d.maxScore }

func (d *disMaxIterator) Score() base.Score {
	var best, sum base.Score
	for _, c := range d.children {
		if c.DocID() == d.doc {
			s := c.Score()
			best = max(best, s)
			sum += s
		}
	}
	return best + scaled(sum-best, d.tie)
}

// atLeastIterator yields the documents of a number of children, and sums their scores.
type atLeastIterator struct {
	alternatives
	least    int
	maxScore base.Score
}

var _ iterator = (*atLeastIterator)(nil)

func (a *atLeastIterator) reset(children []iterator, least int, p *pulse) {
	a.alternatives.reset(children, p)
	a.least, a.maxScore = least, 0
	for _, c := range children {
		a.maxScore += c.MaxScore()
	}
}

func (a *atLeastIterator) MaxScore() base.Score { return a.maxScore }

func (a *atLeastIterator) NextGEQ(target base.DocID) base.DocID {
	for {
		doc := a.alternatives.NextGEQ(target)
		if doc == base.NoDocID || a.matching(doc) >= a.least {
			return doc
		}
		target = doc + 1
	}
}

func (a *atLeastIterator) matching(doc base.DocID) (n int) {
	for _, c := range a.children {
		if c.DocID() == doc {
			n++
		}
	}
	return n
}

func (a *atLeastIterator) Score() (sum base.Score) {
	for _, c := range a.children {
		if c.DocID() == a.doc {
			sum += c.Score()
		}
	}
	return sum
}

// boostingIterator lowers the scores of the documents of negative, which may be nil.
type boostingIterator struct {
	iterator // positive
	negative iterator
	factor   float64
}

var _ pruner = (*boostingIterator)(nil)

func (b *boostingIterator) Score() base.Score {
	s := b.iterator.Score()
	if reaches(b.negative, b.iterator.DocID()) {
		return scaled(s, b.factor)
	}
	return s
}

// reaches reports whether an iterator, which may be ahead, has a document.
func reaches(it iterator, doc base.DocID) bool {
	at := it.DocID()
	return at == doc || (at == base.NoDocID || at < doc) && it.NextGEQ(doc) == doc
}

// SetNeed: no score is above positive's.
func (b *boostingIterator) SetNeed(need base.Score) { setNeed(b.iterator, need, 0) }

// constant builds an iterator of constant score.
func (b *treeBuilder) constant(n *constant) (iterator, error) {
	s, ok := n.child.(*set)
	if !ok {
		child, err := b.build(n.child)
		if err != nil || child == nil {
			return nil, err
		}
		return &constantIterator{child, n.score}, nil
	}
	found, err := b.matcher.set(s)
	if err != nil || found.count == 0 {
		return nil, err
	}
	if found.words == nil {
		return &docsIterator{docs: found.docs, doc: base.NoDocID, score: n.score, count: found.count}, nil
	}
	return &bitsIterator{words: found.words, doc: base.NoDocID, score: n.score, count: found.count}, nil
}

// existingChildren builds the children that have a document.
func (b *treeBuilder) existingChildren(nodes []node) ([]iterator, error) {
	children := make([]iterator, 0, len(nodes))
	for _, n := range nodes {
		child, err := b.build(n)
		if err != nil {
			return nil, err
		}
		if child != nil {
			children = append(children, child)
		}
	}
	return children, nil
}

func (b *treeBuilder) disMax(n *disMax) (iterator, error) {
	children, err := b.existingChildren(n.children)
	switch {
	case err != nil || len(children) == 0:
		return nil, err
	case len(children) == 1:
		return children[0], nil
	}
	it := new(disMaxIterator)
	it.reset(children, n.tie, b.pulse)
	return it, nil
}

func (b *treeBuilder) atLeast(nodes []node, least int) (iterator, error) {
	children, err := b.existingChildren(nodes)
	if err != nil || len(children) < least {
		return nil, err
	}
	slices.SortStableFunc(children, func(x, y iterator) int { return x.Cost() - y.Cost() })
	it := new(atLeastIterator)
	it.reset(children, least, b.pulse)
	return it, nil
}

func (b *treeBuilder) boosting(n *boosting) (iterator, error) {
	positive, err := b.build(n.positive)
	if err != nil || positive == nil {
		return nil, err
	}
	negative, err := b.build(n.negative)
	if err != nil || negative == nil {
		return positive, err
	}
	return &boostingIterator{positive, negative, n.factor}, nil
}
