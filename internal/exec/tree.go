package exec

import (
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/query"
)

// node is a part of a planned query: *leaf or *group. What query.Node leaves
// open is decided: the mode, the analysis, the boosts of groups.
type node interface{ isNode() }

// leaf is a term (one of terms, no offsets) or a phrase.
type leaf struct {
	field base.FieldID
	terms []int // indexes into the plan's terms, in the order of the phrase
	// offsets of the terms' positions from the first one's: offsets[0] == 0,
	// rising. nil for a term.
	offsets []uint32
	boost   float64
}

// group matches the documents that match all of required, at least one of
// optional if required is empty, and none of excluded. Their score is that of
// the required and optional nodes that match. The empty group matches nothing.
type group struct {
	required, optional, excluded []node
}

func (*leaf) isNode()  {}
func (*group) isNode() {}

func (l *leaf) isPhrase() bool { return len(l.terms) > 1 }

func (l *leaf) same(o *leaf) bool {
	return slices.Equal(l.terms, o.terms) && slices.Equal(l.offsets, o.offsets)
}

// matchesNothing reports whether g is a group without anything to match.
func (g *group) matchesNothing() bool { return len(g.required) == 0 && len(g.optional) == 0 }

// nothing is a group that matches no document.
func nothing() node { return &group{} }

// simplify returns a node that matches the same documents as g, with the
// required and optional leaves of nested groups moved up where that changes
// nothing, and leaves that occur twice in one group replaced by one with the
// sum of the boosts. So a query that is in effect a flat AND or OR becomes one.
func (g *group) simplify() node {
	if !g.inline() {
		return nothing()
	}
	g.mergeDuplicates()
	if len(g.required) == 0 && len(g.optional) == 1 {
		g.required, g.optional = g.optional, nil
		if !g.inline() {
			return nothing()
		}
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

// inline replaces groups within g, which are simple already, by their members.
// It returns false if something that is required matches nothing.
func (g *group) inline() bool {
	if hasGroup(g.required) {
		members := g.required
		g.required = nil
		for _, n := range members {
			switch inner, ok := n.(*group); {
			case ok && inner.matchesNothing():
				return false
			case ok && len(inner.required) > 0:
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

// inlineAlternatives replaces groups that ask for any of their members.
func inlineAlternatives(nodes []node) []node {
	if !hasGroup(nodes) {
		return nodes
	}
	var flat []node
	for _, n := range nodes {
		inner, ok := n.(*group)
		switch {
		case ok && inner.matchesNothing():
		case ok && len(inner.required) == 0 && len(inner.excluded) == 0:
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
	// A term that is required matches: what its optional double adds, it adds too.
	optional := g.optional[:0]
	for _, n := range g.optional {
		if !absorb(g.required, n) {
			optional = append(optional, n)
		}
	}
	g.optional = mergeInto(optional[:0], optional)
	g.excluded = mergeInto(g.excluded[:0], g.excluded)
}

// mergeInto appends nodes to dst, which may be the beginning of nodes itself,
// without the leaves that dst has already.
func mergeInto(dst, nodes []node) []node {
	for _, n := range nodes {
		if !absorb(dst, n) {
			dst = append(dst, n)
		}
	}
	return dst
}

// absorb adds the boost of n, if it is a leaf that nodes has too, to that one.
// It leaves them apart if the sum passed the largest boost, for which scores
// are proved to fit (score.Term).
func absorb(nodes []node, n node) bool {
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

// termsOnly reports whether all nodes are terms.
func termsOnly(nodes []node) bool {
	for _, n := range nodes {
		if l, ok := n.(*leaf); !ok || l.isPhrase() {
			return false
		}
	}
	return true
}

// flatQuery is a tree that package traverse can run: terms of which all are
// required (conjunctive) or any will do, and terms that exclude.
type flatQuery struct {
	leaves, excluded []node
	conjunctive      bool
}

// flatten returns n as a flat query if it is one.
func flatten(n node, m *planMemory) (q flatQuery, ok bool) {
	switch n := n.(type) {
	case *leaf:
		return flatQuery{leaves: append(m.nodes.take(1)[:0], n)}, !n.isPhrase()
	case *group:
		switch {
		case n.matchesNothing() || !termsOnly(n.excluded):
		case len(n.optional) == 0:
			return flatQuery{n.required, n.excluded, true}, termsOnly(n.required)
		case len(n.required) == 0:
			return flatQuery{n.optional, n.excluded, false}, termsOnly(n.optional)
		}
	}
	return flatQuery{}, false
}
