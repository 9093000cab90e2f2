package query

// WithOccur gives Plain clauses, and the terms of Words, another role, so that the tree means the same in
// every mode: Must as in mode "and", Should as in mode "or". It changes the tree.
func WithOccur(node Node, occur Occur) Node {
	switch n := node.(type) {
	case *Words:
		if n.Occur == Plain {
			n.Occur = occur
		}
	case *Boolean:
		for i := range n.Clauses {
			c := &n.Clauses[i]
			if c.Occur == Plain {
				if c.Occur = occur; n.AtLeast != "" {
					c.Occur = Should
				}
			}
			c.Node = WithOccur(c.Node, occur)
		}
	default:
		eachPart(node, func(part *Node) { *part = WithOccur(*part, occur) })
	}
	return node
}

// FieldWeight is a field with the factor of its scores; 0 is 1.
type FieldWeight struct {
	Name   string
	Weight float64
}

// InFields searches the leaves without a field in several fields instead: each becomes a DisMax of one leaf
// a field. It changes the tree. Products of weights and boosts must be valid boosts.
func InFields(node Node, fields []FieldWeight, tieBreaker float64) Node {
	if b, ok := node.(*Boolean); ok {
		for i := range b.Clauses {
			b.Clauses[i].Node = InFields(b.Clauses[i].Node, fields, tieBreaker)
		}
		return b
	}
	if d := (&DisMax{TieBreaker: tieBreaker}); fieldOf(node) != nil {
		if *fieldOf(node) != "" {
			return node
		}
		for _, f := range fields {
			d.Nodes = append(d.Nodes, inField(node, f))
		}
		if len(d.Nodes) == 1 {
			return d.Nodes[0]
		}
		return d
	}
	eachPart(node, func(part *Node) { *part = InFields(*part, fields, tieBreaker) })
	return node
}

// EachLeaf visits the nodes of a tree that have no parts. It skips excluded clauses and the negative part of Boosting.
func EachLeaf(node Node, visit func(leaf Node)) {
	switch n := node.(type) {
	case *Boolean:
		for _, c := range n.Clauses {
			if c.Occur != MustNot {
				EachLeaf(c.Node, visit)
			}
		}
	case *Boosting:
		EachLeaf(n.Positive, visit)
	case *FunctionScore:
		if n.Node != nil {
			EachLeaf(n.Node, visit)
		}
	case *Constant, *DisMax:
		eachPart(n, func(part *Node) { EachLeaf(*part, visit) })
	default:
		visit(node)
	}
}

// MapLeaves puts other nodes in the place of those that have no parts. It changes the tree.
func MapLeaves(node Node, change func(leaf Node) Node) Node {
	switch n := node.(type) {
	case *Boolean:
		for i := range n.Clauses {
			n.Clauses[i].Node = MapLeaves(n.Clauses[i].Node, change)
		}
	case *Constant, *DisMax, *Boosting, *FunctionScore:
		eachPart(n, func(part *Node) { *part = MapLeaves(*part, change) })
	default:
		return change(node)
	}
	return node
}

func eachPart(node Node, change func(part *Node)) {
	switch n := node.(type) {
	case *Constant:
		change(&n.Node)
	case *DisMax:
		for i := range n.Nodes {
			change(&n.Nodes[i])
		}
	case *Boosting:
		change(&n.Positive)
		change(&n.Negative)
	case *FunctionScore:
		if n.Node != nil {
			change(&n.Node)
		}
		for i := range n.Functions {
			if n.Functions[i].Filter != nil {
				change(&n.Functions[i].Filter)
			}
		}
	}
}

// FieldOf returns the field of a leaf that searches one ("" is the default field); false: node is another one.
func FieldOf(node Node) (name string, ok bool) {
	if f := fieldOf(node); f != nil {
		return *f, true
	}
	return "", false
}

// fieldOf returns the Field of a leaf; nil: it has none.
func fieldOf(node Node) *string {
	switch n := node.(type) {
	case *Term:
		return &n.Field
	case *Phrase:
		return &n.Field
	case *Words:
		return &n.Field
	case *Prefix:
		return &n.Field
	case *Wildcard:
		return &n.Field
	case *Regexp:
		return &n.Field
	case *Fuzzy:
		return &n.Field
	case *Terms:
		return &n.Field
	case *TermsSet:
		return &n.Field
	case *Range:
		return &n.Field
	case *Weights:
		if n.Field != "" {
			return &n.Field
		}
	}
	return nil
}

// inField returns a copy of a leaf for a field.
func inField(node Node, f FieldWeight) Node {
	var leaf Node
	switch n := node.(type) {
	case *Term:
		c := *n
		leaf = &c
	case *Phrase:
		c := *n
		leaf = &c
	case *Words:
		c := *n
		leaf = &c
	case *Prefix:
		c := *n
		leaf = &c
	case *Wildcard:
		c := *n
		leaf = &c
	case *Regexp:
		c := *n
		leaf = &c
	case *Fuzzy:
		c := *n
		leaf = &c
	case *Terms:
		c := *n
		leaf = &c
	case *TermsSet:
		c := *n
		leaf = &c
	case *Range:
		c := *n
		leaf = &c
	}
	*fieldOf(leaf) = f.Name
	*leaf.boost() = factor(*leaf.boost()) * factor(f.Weight)
	return leaf
}
