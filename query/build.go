package query

import (
	"cmp"
	"fmt"
	"reflect"
)

// All matches documents that match every node.
func All(nodes ...Node) *Boolean { return boolean(Must, nodes) }

// Any matches documents that match at least one node.
func Any(nodes ...Node) *Boolean { return boolean(Should, nodes) }

// Group requires its nodes in mode "and", not in mode "or", like adjacent words in query text.
func Group(nodes ...Node) *Boolean { return boolean(Plain, nodes) }

// Exclude matches documents that match node and none of excluded, which do not change scores.
func Exclude(node Node, excluded ...Node) *Boolean {
	b := boolean(MustNot, excluded)
	b.Clauses = append([]Clause{{Occur: Must, Node: node}}, b.Clauses...)
	return b
}

func boolean(occur Occur, nodes []Node) *Boolean {
	b := &Boolean{Clauses: make([]Clause, len(nodes)), Boost: 1}
	for i, n := range nodes {
		b.Clauses[i] = Clause{Occur: occur, Node: n}
	}
	return b
}

// Quote returns text as a phrase in query text: Parse(Quote(text), fields) is a Phrase of
// exactly this Text.
func Quote(text string) string { return (&Phrase{Text: text}).String() }

// Trees of Parse stay below it: a pair of parentheses holds at most five Booleans within one
// another.
const maxNodeDepth = 8 * MaxDepth

// Validate checks a node against the language's limits, as a search does; trees of Parse are
// valid. The error is an *Error without position.
func Validate(node Node) error {
	v := validator{}
	return v.check(node, 1, 0)
}

type validator struct {
	leaves, bytes int
}

func (v *validator) check(node Node, boost float64, depth int) error {
	if isNil(node) {
		return invalid(ErrSyntax, "the query has a nil node")
	}
	switch n := node.(type) {
	case *Term:
		if n.Text == "" {
			return invalid(ErrSyntax, "a Term has no text")
		}
		return v.leaf(n.Text, boost, n.Boost)
	case *Phrase:
		if n.Slop < 0 || n.Slop > MaxSlop || n.MaxExpansions < 0 || n.MaxExpansions > MaxClauses {
			return invalid(ErrSyntax, "a Phrase with slop %d and %d expansions", n.Slop, n.MaxExpansions)
		}
		return v.leaf(n.Text, boost, n.Boost)
	case *Words:
		return v.words(n, boost)
	case *Weights:
		return v.weights(n, boost, depth)
	case *Boolean:
		return v.group(n, boost, depth)
	}
	return v.other(node, boost, depth)
}

// isNil reports whether a node is nil or a nil pointer.
func isNil(node Node) bool {
	return node == nil || reflect.ValueOf(node).IsNil()
}

func (v *validator) words(w *Words, boost float64) error {
	if w.Occur != Plain && w.Occur != Must && w.Occur != Should {
		return invalid(ErrSyntax, "Words have the Occur %d", w.Occur)
	}
	if w.Similar != nil {
		if err := w.Similar.validate(); err != nil {
			return err
		}
	}
	if err := w.AtLeast.validate(); err != nil {
		return err
	}
	return v.leaf(w.Text, boost, w.Boost)
}

func (v *validator) group(b *Boolean, boost float64, depth int) error {
	if depth == maxNodeDepth {
		return invalid(ErrTooDeep, "more than %d groups within one another", maxNodeDepth)
	}
	if depth > 0 && len(b.Clauses) == 0 {
		return invalid(ErrSyntax, "a nested group has no clauses")
	}
	if err := checkBoost(boost, b.Boost); err != nil {
		return err
	}
	if err := b.AtLeast.validate(); err != nil {
		return err
	}
	for _, c := range b.Clauses {
		if c.Occur > Filter {
			return invalid(ErrSyntax, "a clause has the unknown Occur %d", c.Occur)
		}
		if err := v.check(c.Node, boost*factor(b.Boost), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) leaf(text string, outer, boost float64) error {
	v.leaves++
	v.bytes += len(text)
	if v.leaves > MaxClauses {
		return invalid(ErrTooManyClauses, "more than %d words and phrases", MaxClauses)
	}
	if v.bytes > MaxBytes {
		return invalid(ErrTooLong, "more than %d bytes of text", MaxBytes)
	}
	return checkBoost(outer, boost)
}

func checkBoost(outer, boost float64) error {
	switch b := factor(boost); {
	case !(b >= MinBoost && b <= MaxBoost):
		return invalid(ErrSyntax, "boost %g is not between %g and %d", boost, MinBoost, MaxBoost)
	case !(outer*b <= MaxBoost):
		return invalid(ErrSyntax, "boosts within one another multiply to more than %d", MaxBoost)
	}
	return nil
}

func factor(boost float64) float64 { return cmp.Or(boost, 1) }

func invalid(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}
