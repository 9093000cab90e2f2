package plan

import (
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/query"
)

// node is a part of a planned query: *leaf, *group, or one of nodes.go. Analysis is done and the boosts
// of groups are applied.
type node interface{ isNode() }

// leaf is a term (one element in terms, no offsets) or a phrase.
type leaf struct {
	field base.FieldID
	terms []int // indexes into the plan's terms, in the order of the phrase
	// offsets are positions relative to the first term: offsets[0] == 0, rising. nil for a term.
	offsets []uint32
	boost   float64
	slop    uint32 // of a phrase
	// expand is not 0 for a phrase whose last term is the beginning of one: the terms from terms[expand]
	// on stand at the last position.
	expand int
	blend  *blend // nil: the term has its own document frequency
}

// blend are the terms that are similar to one: they share the greatest document frequency.
type blend struct {
	key     string // identifies the terms in a snapshot
	terms   []int
	docFreq uint64 // set by countBlends
}

// group matches the documents with all of required, at least one of optional if required is
// empty, and none of excluded, and sums the scores of matching required and optional nodes. An
// empty group matches nothing. With atLeast above 1, that many of optional have to match.
type group struct {
	required, optional, excluded []node
	atLeast                      int
}

func (*leaf) isNode()  {}
func (*group) isNode() {}

func (l *leaf) isPhrase() bool { return len(l.terms) > 1 }

func (l *leaf) same(o *leaf) bool {
	return slices.Equal(l.terms, o.terms) && slices.Equal(l.offsets, o.offsets) && l.slop == o.slop && l.expand == o.expand &&
		l.blendKey() == o.blendKey()
}

func (l *leaf) blendKey() string {
	if l.blend == nil {
		return ""
	}
	return l.blend.key
}

func (g *group) matchesNothing() bool { return len(g.required) == 0 && len(g.optional) == 0 }

func nothing() node { return &group{} }

// simplify returns a node with the same matches and scores as g: leaves of nested groups move
// up where possible, and equal leaves of a group become one with the sum of the boosts. So a
// query that is equivalent to a flat AND or OR becomes flat.
func (g *group) simplify() node {
	if g.atLeast > 1 {
		switch n := len(g.optional); {
		case n < g.atLeast:
			return nothing()
		case n == g.atLeast:
			g.required, g.optional = append(g.required, g.optional...), nil
		default:
			return g
		}
	}
	g.atLeast = 0
	if !g.inline() {
		return nothing()
	}
	g.mergeDuplicates()
	if len(g.required) == 0 && len(g.optional) == 1 {
		g.required, g.optional = g.optional, nil
		g.inline() // alternatives that match nothing are gone
		g.mergeDuplicates()
	}
	switch {
	case g.matchesNothing():
		return nothing()
	case len(g.required) == 1 && len(g.optional) == 0 && len(g.excluded) == 0:
		return g.required[0]
	}
	return g
}

// inline replaces simplified groups within g by their members, false if a required member
// matches nothing.
func (g *group) inline() bool {
	if hasGroup(g.required) {
		members := g.required
		g.required = nil
		for _, n := range members {
			switch inner, ok := n.(*group); {
			case ok && inner.matchesNothing():
				return false
			case ok && len(inner.required) > 0 && inner.atLeast == 0:
				g.required = append(g.required, inner.required...)
				g.optional = append(g.optional, inner.optional...)
				g.excluded = append(g.excluded, inner.excluded...)
			default:
				g.required = append(g.required, n)
			}
		}
	}
	g.optional = inlineAlternatives(g.optional)
	g.excluded = inlineAlternatives(g.excluded)
	return true
}

func inlineAlternatives(nodes []node) []node {
	if !hasGroup(nodes) {
		return nodes
	}
	var flat []node
	for _, n := range nodes {
		inner, ok := n.(*group)
		switch {
		case ok && inner.matchesNothing():
		case ok && len(inner.required) == 0 && len(inner.excluded) == 0 && inner.atLeast == 0:
			flat = append(flat, inner.optional...)
		default:
			flat = append(flat, n)
		}
	}
	return flat
}

func hasGroup(nodes []node) bool {
	for _, n := range nodes {
		if _, ok := n.(*group); ok {
			return true
		}
	}
	return false
}

func (g *group) mergeDuplicates() {
	g.required = mergeInto(g.required[:0], g.required)
	// A required term always matches, so an optional duplicate only adds its boost.
	optional := g.optional[:0]
	for _, n := range g.optional {
		if !absorb(g.required, n) {
			optional = append(optional, n)
		}
	}
	g.optional = mergeInto(optional[:0], optional)
	g.excluded = mergeInto(g.excluded[:0], g.excluded)
}

// mergeInto appends nodes to dst, merging leaves that dst already has. dst may alias the
// beginning of nodes.
func mergeInto(dst, nodes []node) []node {
	var seen firstTerms
	for _, n := range dst {
		seen.add(n)
	}
	for _, n := range nodes {
		if seen.add(n) || !absorb(dst, n) {
			dst = append(dst, n)
		}
	}
	return dst
}

// firstTerms are the first terms of leaves. Leaves with different ones are different, which saves comparing each
// with each: a fuzzy word has up to query.MaxClauses leaves.
type firstTerms [query.MaxClauses/64 + 1]uint64

// add reports whether n is a leaf whose first term is new.
func (f *firstTerms) add(n node) bool {
	l, ok := n.(*leaf)
	if !ok || l.terms[0] >= 64*len(f) {
		return false
	}
	word, bit := &f[l.terms[0]/64], uint64(1)<<(l.terms[0]%64)
	isNew := *word&bit == 0
	*word |= bit
	return isNew
}

// absorb adds the boost of n to an equal leaf in nodes, unless the sum exceeds query.MaxBoost,
// up to which scores are proved to fit (score.Term).
func absorb(nodes []node, n node) bool {
	if n, ok := n.(*combined); ok {
		return absorbCombined(nodes, n)
	}
	l, ok := n.(*leaf)
	if !ok {
		return false
	}
	for _, other := range nodes {
		if o, ok := other.(*leaf); ok && o.same(l) && o.boost+l.boost <= query.MaxBoost {
			o.boost += l.boost
			return true
		}
	}
	return false
}

func termsOnly(nodes []node) bool {
	for _, n := range nodes {
		if l, ok := n.(*leaf); !ok || l.isPhrase() {
			return false
		}
	}
	return true
}

// flatQuery is a tree for package traverse: terms that are all required (conjunctive) or all
// optional, excluded nodes, and filters: required nodes of constant score.
type flatQuery struct {
	leaves, excluded []node
	filters          []node
	conjunctive      bool
	offset           base.Score // sum of the scores of filters
}

func flatten(n node, m *planMemory) (q flatQuery, ok bool) {
	switch n := n.(type) {
	case *leaf:
		return flatQuery{leaves: append(m.nodes.take(1)[:0], n)}, !n.isPhrase()
	case *group:
		switch {
		case n.matchesNothing() || n.atLeast > 1 || !isMask(n.excluded):
		case len(n.required) == 0:
			return flatQuery{leaves: n.optional, excluded: n.excluded}, termsOnly(n.optional)
		case len(n.optional) == 0 && termsOnly(n.required):
			return flatQuery{leaves: n.required, excluded: n.excluded, conjunctive: true}, true
		case len(n.optional) == 0:
			return flattenFiltered(n, m)
		}
	}
	return flatQuery{}, false
}

// flattenFiltered is for required filters besides required terms, or besides one group of alternatives, which
// needs no filters: "+(a b) -c" is "a b -c".
func flattenFiltered(g *group, m *planMemory) (q flatQuery, ok bool) {
	q = flatQuery{excluded: g.excluded, conjunctive: true}
	all := m.nodes.take(len(g.required))
	filters, leaves := all[:0], m.nodes.take(len(g.required))[:0]
	var alternatives *group
	for _, n := range g.required {
		switch n := n.(type) {
		case *constant:
			filters = append(filters, n)
			q.offset += n.score
		case *group:
			if alternatives != nil || len(n.required) > 0 || len(n.excluded) > 0 || n.atLeast > 1 || !termsOnly(n.optional) {
				return flatQuery{}, false
			}
			alternatives = n
		default:
			leaves = append(leaves, n)
		}
	}
	q.filters = filters
	switch {
	case len(filters) == 0 && alternatives == nil || !termsOnly(leaves):
		return flatQuery{}, false
	case alternatives == nil:
		q.leaves = leaves
	case len(leaves) > 0:
		return flatQuery{}, false
	default:
		q.leaves, q.conjunctive = alternatives.optional, false
	}
	return q, len(q.leaves) > 0
}

// isMask reports whether a bitmap of excluded nodes is likely to cost little.
func isMask(nodes []node) bool {
	for _, n := range nodes {
		switch n := n.(type) {
		case *leaf:
			if n.isPhrase() {
				return false
			}
		case *constant:
		default:
			return false
		}
	}
	return true
}
