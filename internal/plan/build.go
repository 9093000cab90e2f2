package plan

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/traverse"
)

// treeBuilder makes and reuses the iterators of a tree for one segment.
type treeBuilder struct {
	words   *words
	segment int
	pulse   *pulse
	matcher *matcher

	terms        arena[termIterator]
	phrases      arena[phraseIterator]
	founds       arena[keptIterator]
	conjunctions arena[conjunction]
	disjunctions arena[disjunction]
	exclusions   arena[exclusion]
	preferences  arena[preference]
	children     arena[iterator]
	bounds       arena[base.Score]
	leg          traverse.Leg

	// only are documents beyond which phrases need not match, if narrowed.
	only     documents
	narrowed bool

	// All iterators of this segment, for finish.
	openTerms   []*termIterator
	openPhrases []*phraseIterator
	openKept    []*keptIterator
}

func (b *treeBuilder) reset(ws *words, segment int, pulse *pulse, m *matcher) {
	b.words, b.segment, b.pulse, b.matcher, b.only, b.narrowed = ws, segment, pulse, m, documents{}, false
	b.terms.reset()
	b.phrases.reset()
	b.founds.reset()
	b.conjunctions.reset()
	b.disjunctions.reset()
	b.exclusions.reset()
	b.preferences.reset()
	b.children.reset()
	b.bounds.reset()
	b.openTerms, b.openPhrases, b.openKept = b.openTerms[:0], b.openPhrases[:0], b.openKept[:0]
}

// build returns nil if n has no document in the segment.
func (b *treeBuilder) build(n node) (iterator, error) {
	switch n := n.(type) {
	case *leaf:
		if n.isPhrase() {
			return b.phrase(n)
		}
		return b.term(n)
	case *group:
		return b.group(n)
	case *constant:
		return b.constant(n)
	case *disMax:
		return b.disMax(n)
	case *boosting:
		return b.boosting(n)
	case *combined:
		return b.combined(n)
	case *functionScore:
		return b.functionScore(n)
	}
	return nil, nil
}

func (b *treeBuilder) group(g *group) (iterator, error) {
	it, err := b.all(g.required)
	if err != nil || it == nil && len(g.required) > 0 {
		return nil, err
	}
	optional, err := b.optional(g)
	if err != nil {
		return nil, err
	}
	switch {
	case it == nil:
		it = optional
	case optional != nil:
		p := b.preferences.one()
		*p = preference{required: it, optional: optional, doc: base.NoDocID, pulse: b.pulse}
		it = p
	}
	if it == nil {
		return nil, nil
	}
	excluded, err := b.any(g.excluded)
	if err != nil || excluded == nil {
		return it, err
	}
	e := b.exclusions.one()
	*e = exclusion{included: it, excluded: excluded, pulse: b.pulse}
	return e, nil
}

func (b *treeBuilder) optional(g *group) (iterator, error) {
	if g.atLeast > 1 {
		return b.atLeast(g.optional, g.atLeast)
	}
	return b.any(g.optional)
}

// all returns the conjunction of nodes, nil without nodes or if one has no document.
func (b *treeBuilder) all(nodes []node) (iterator, error) {
	nodes, tested := b.tested(nodes)
	it, err := b.conjunction(nodes)
	if err != nil || it == nil || len(tested) == 0 {
		return it, err
	}
	return b.withTests(it, tested)
}

func (b *treeBuilder) conjunction(nodes []node) (iterator, error) {
	children := b.children.take(len(nodes))
	before, narrowed := b.only, b.narrowed
	defer func() { b.only, b.narrowed = before, narrowed }()
	narrows := b.matcher.narrowsPhrases(nodes)
	for i, n := range nodes { // the filters first, for the phrases
		if narrows && isFilter(n) {
			child, err := b.filter(n.(*constant))
			if err != nil || child == nil {
				return nil, err
			}
			children[i] = child
		}
	}
	for i, n := range nodes {
		if narrows && isFilter(n) {
			continue
		}
		child, err := b.build(n)
		if err != nil || child == nil {
			return nil, err
		}
		children[i] = child
	}
	switch len(children) {
	case 0:
		return nil, nil
	case 1:
		return children[0], nil
	}
	c := b.conjunctions.one()
	c.reset(children, b.pulse)
	return c, nil
}

// hasPhrase reports whether phrases are in a node, not among its excluded parts.
func hasPhrase(n node) (found bool) {
	walkLeaves(n, false, func(l *leaf, excluded bool) { found = found || !excluded && l.isPhrase() })
	return found
}

// isFilter reports whether a node of a conjunction can be a filter for phrases.
func isFilter(n node) bool {
	c, ok := n.(*constant)
	if !ok {
		return false
	}
	if l, isLeaf := c.child.(*leaf); isLeaf {
		return !l.isPhrase()
	}
	_, isSet := c.child.(*set)
	return isSet
}

// narrowsPhrases reports whether the documents of a conjunction's filters cost less than positions in others.
func (m *matcher) narrowsPhrases(nodes []node) bool {
	if len(nodes) < 2 || !slices.ContainsFunc(nodes, isFilter) || !slices.ContainsFunc(nodes, hasPhrase) {
		return false
	}
	rarest, cost := int(base.MaxDocs), 0
	for _, n := range nodes {
		switch {
		case !isFilter(n):
			rarest = min(rarest, m.docFreq(n))
		case !m.isCached(n.(*constant).child):
			cost += m.words.filterCost(m.segment, n.(*constant).child)
		}
	}
	return cost <= treePostingCost*rarest
}

// filter builds a node without phrases and narrows only to its documents.
func (b *treeBuilder) filter(n *constant) (iterator, error) {
	found, _, err := b.matcher.find(n.child, n.text)
	if err != nil || found.count == 0 {
		return nil, err
	}
	if b.narrowed {
		if found = b.matcher.both(found, b.only); found.count == 0 {
			return nil, nil
		}
	}
	b.only, b.narrowed = found, true
	return found.iterator(n.score), nil
}

// any returns the disjunction of nodes, nil if none has a document.
func (b *treeBuilder) any(nodes []node) (iterator, error) {
	children := b.children.take(len(nodes))[:0]
	for _, n := range nodes {
		child, err := b.build(n)
		if err != nil {
			return nil, err
		}
		if child != nil {
			children = append(children, child)
		}
	}
	switch len(children) {
	case 0:
		return nil, nil
	case 1:
		return children[0], nil
	}
	d := b.disjunctions.one()
	d.reset(children, b.children.take(len(children)), b.bounds.take(len(children)), b.pulse)
	return d, nil
}

func (b *treeBuilder) term(l *leaf) (iterator, error) {
	if b.words.list(b.segment, l.terms[0]).DocFreq == 0 {
		return nil, nil
	}
	if err := b.words.leg(&b.leg, b.segment, l.terms[0], b.words.scorer(l)); err != nil {
		return nil, err
	}
	t := b.terms.one()
	t.reset(&b.leg)
	b.openTerms = append(b.openTerms, t)
	return t, nil
}

func (b *treeBuilder) phrase(l *leaf) (iterator, error) {
	fixed := l.fixed()
	for _, t := range fixed {
		if b.words.list(b.segment, t).DocFreq == 0 {
			return nil, nil
		}
	}
	if kept, err := b.keptPhrase(l); kept != nil || err != nil {
		return kept, err
	}
	p := b.phrases.one()
	p.begin(b.pulse, l.slop)
	if b.narrowed {
		with, err := narrower{b.matcher}.withTerms(b.only, l, noTerm)
		if err != nil || with.count == 0 {
			return nil, err
		}
		p.among(&with)
	}
	scorer := b.words.scorer(l)
	for i, t := range l.terms {
		if i >= len(fixed) && b.words.list(b.segment, t).DocFreq == 0 {
			continue
		}
		if err := b.words.leg(&b.leg, b.segment, t, scorer); err != nil {
			return nil, err
		}
		if p.alternatives() {
			p.addAlternative(&b.leg)
			continue
		}
		// The phrase is at most as frequent as each of its terms, so each
		// term's bound with the phrase's weight bounds its score.
		p.add(t, l.offsets[i], &b.leg, i >= len(fixed))
	}
	if l.expand > 0 && !p.alternatives() {
		return nil, nil
	}
	p.sortByRarity()
	b.openPhrases = append(b.openPhrases, p)
	return p, nil
}

// finish adds the iterators' work to w and returns their first error.
func (b *treeBuilder) finish(w *Work) error {
	var failed error
	for _, t := range b.openTerms {
		stats := t.cursor.Stats()
		w.Add(Work{
			PostingsDecoded: int64(stats.PostingsDecoded), PostingsScored: t.scored,
			BlocksDecoded: int64(stats.BlocksDecoded), BlocksSkipped: int64(t.cursor.NumBlocks() - stats.BlocksDecoded),
		})
		if err := t.cursor.Err(); err != nil && failed == nil {
			failed = fmt.Errorf("posting list: %w", err)
		}
	}
	for _, k := range b.openKept {
		w.PostingsScored += k.scored
	}
	for _, p := range b.openPhrases {
		w.PostingsScored += p.scored
		for i := range p.cursors {
			c := &p.cursors[i]
			if err := c.finish(w); err != nil && failed == nil {
				failed = fmt.Errorf("term %q: %w", b.words.terms[c.term].bytes, err)
			}
		}
	}
	return failed
}
