package plan

import (
	"cmp"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// disjunction yields the documents of at least one child. With SetNeed it is
// MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations",
// Information Processing & Management 31(6), 1995, §4.2) over iterators: as the
// need rises, children that cannot reach it together become non-essential and
// yield no documents.
type disjunction struct {
	// essential is a min-heap by DocID.
	essential []iterator
	// In order of rising MaxScore; bounds[i] is the sum of the MaxScores of nonEssential[:i+1].
	// Invariant: bounds[len(nonEssential)-1] < need.
	nonEssential []iterator
	bounds       []base.Score

	all      []iterator // by rising MaxScore: nonEssential, then the heap's
	doc      base.DocID
	score    base.Score
	scored   bool // score is for doc
	started  bool // the essential children are at a document
	need     base.Score
	maxScore base.Score
	cost     int
	pulse    *pulse
}

var _ pruner = (*disjunction)(nil)

// reset owns children and starts before their first document. heap and bounds have the length
// of children.
func (d *disjunction) reset(children, heap []iterator, bounds []base.Score, p *pulse) {
	slices.SortStableFunc(children, func(a, b iterator) int { return cmp.Compare(a.MaxScore(), b.MaxScore()) })
	*d = disjunction{all: children, essential: heap, bounds: bounds, doc: base.NoDocID, pulse: p}
	for i, child := range children {
		d.maxScore += child.MaxScore()
		d.bounds[i] = d.maxScore
		d.cost += child.Cost()
	}
	copy(heap, children)
}

func (d *disjunction) DocID() base.DocID    { return d.doc }
func (d *disjunction) MaxScore() base.Score { return d.maxScore }
func (d *disjunction) Cost() int            { return d.cost }

func (d *disjunction) SetNeed(need base.Score) {
	d.need = need
	n := len(d.nonEssential)
	for n < len(d.all) && d.bounds[n] < need {
		n++
	}
	if n == len(d.nonEssential) {
		return
	}
	if d.doc != base.NoDocID {
		d.Score() // while the heap has all children at doc
	}
	d.nonEssential = d.all[:n]
	d.essential = d.essential[:copy(d.essential, d.all[n:])]
	d.heapify()
}

func (d *disjunction) NextGEQ(target base.DocID) base.DocID {
	if d.doc != base.NoDocID && d.doc >= target {
		return d.doc
	}
	d.scored = false
	for len(d.essential) > 0 {
		if d.pulse.stopped() {
			break
		}
		d.advance(target)
		doc := d.essential[0].DocID()
		if doc == base.NoDocID {
			break
		}
		if len(d.nonEssential) == 0 || d.passes(doc) {
			d.doc = doc
			return doc
		}
		target = doc + 1
	}
	d.doc = base.NoDocID
	return d.doc
}

func (d *disjunction) advance(target base.DocID) {
	if !d.started {
		d.started = true
		for _, child := range d.essential {
			child.NextGEQ(target)
		}
		d.heapify()
	}
	for d.essential[0].DocID() < target {
		d.essential[0].NextGEQ(target)
		d.siftDown(0)
	}
}

// passes scores doc, incompletely if the score does not reach need, and reports whether it
// does.
func (d *disjunction) passes(doc base.DocID) bool {
	d.score = d.sum(0, doc)
	for i := len(d.nonEssential) - 1; i >= 0; i-- {
		if d.score+d.bounds[i] < d.need {
			return false
		}
		child := d.nonEssential[i]
		if at := child.DocID(); at == doc || (at == base.NoDocID || at < doc) && child.NextGEQ(doc) == doc {
			d.score += child.Score()
		}
	}
	d.scored = true
	return d.score >= d.need
}

func (d *disjunction) Score() base.Score {
	if !d.scored {
		d.score = d.sum(0, d.doc)
		d.scored = true
	}
	return d.score
}

// sum adds the scores of the children at doc, the minimum of the heap, in the
// subheap of i.
func (d *disjunction) sum(i int, doc base.DocID) base.Score {
	if i >= len(d.essential) || d.essential[i].DocID() != doc {
		return 0
	}
	return d.essential[i].Score() + d.sum(2*i+1, doc) + d.sum(2*i+2, doc)
}

func (d *disjunction) heapify() {
	for i := range slices.Backward(d.essential) {
		d.siftDown(i)
	}
}

func (d *disjunction) siftDown(i int) {
	h := d.essential
	for {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if right := least + 1; right < len(h) && h[right].DocID() < h[least].DocID() {
			least = right
		}
		if h[i].DocID() <= h[least].DocID() {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
