package query

// other checks the nodes of nodes.go.
func (v *validator) other(node Node, boost float64, depth int) error {
	switch n := node.(type) {
	case *MatchAll:
		return v.leaf("", boost, n.Boost)
	case *Exists:
		return v.leaf("", boost, n.Boost)
	case *IDs:
		return v.values(n.IDs, boost, n.Boost)
	case *Prefix:
		return v.leaf(n.Text, boost, n.Boost)
	case *Wildcard:
		return v.leaf(n.Pattern, boost, n.Boost)
	case *Regexp:
		if n.MaxStates < 0 {
			return invalid(ErrSyntax, "a Regexp with %d states", n.MaxStates)
		}
		return v.leaf(n.Pattern, boost, n.Boost)
	case *Fuzzy:
		if n.Text == "" {
			return invalid(ErrSyntax, "a Fuzzy has no text")
		}
		if err := n.Similarity.validate(); err != nil {
			return err
		}
		return v.leaf(n.Text, boost, n.Boost)
	case *Terms:
		return v.values(n.Values, boost, n.Boost)
	case *TermsSet:
		if len(n.Values) > MaxClauses {
			return invalid(ErrTooManyClauses, "more than %d values", MaxClauses)
		}
		return v.leaf("", boost, n.Boost)
	case *Range:
		return v.leaf(n.From+n.To, boost, n.Boost)
	case *GeoDistance:
		if err := n.validate(); err != nil {
			return err
		}
		return v.leaf("", boost, n.Boost)
	case *GeoPolygon:
		if err := n.validate(); err != nil {
			return err
		}
		return v.leaf("", boost, n.Boost)
	case *GeoBox:
		if err := n.validate(); err != nil {
			return err
		}
		return v.leaf("", boost, n.Boost)
	}
	return v.compound(node, boost, depth)
}

func (v *validator) compound(node Node, boost float64, depth int) error {
	if depth == maxNodeDepth {
		return invalid(ErrTooDeep, "more than %d groups within one another", maxNodeDepth)
	}
	switch n := node.(type) {
	case *Constant:
		if !(n.Score >= 0 && n.Score*boost <= MaxBoost) {
			return invalid(ErrSyntax, "constant score %g times the boosts around it is not between 0 and %d", n.Score, MaxBoost)
		}
		return v.check(n.Node, 1, depth+1)
	case *DisMax:
		if !(n.TieBreaker >= 0 && n.TieBreaker <= 1) {
			return invalid(ErrSyntax, "tie breaker %g is not between 0 and 1", n.TieBreaker)
		}
		return v.parts(n.Nodes, boost, n.Boost, depth)
	case *Boosting:
		if !(n.NegativeBoost >= 0 && n.NegativeBoost <= 1) {
			return invalid(ErrSyntax, "negative boost %g is not between 0 and 1", n.NegativeBoost)
		}
		return v.parts([]Node{n.Positive, n.Negative}, boost, n.Boost, depth)
	case *FunctionScore:
		return v.functionScore(n, boost, depth)
	case *Combined:
		return v.combined(n, boost)
	case *MoreLikeThis:
		return v.moreLikeThis(n, boost)
	}
	return invalid(ErrSyntax, "the query has a node of type %T", node)
}

func (v *validator) parts(nodes []Node, outer, boost float64, depth int) error {
	if err := checkBoost(outer, boost); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := v.check(n, outer*factor(boost), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// values may be long together: MaxValues bounds them.
func (v *validator) values(values []string, outer, boost float64) error {
	if len(values) > MaxValues {
		return invalid(ErrTooManyClauses, "more than %d values", MaxValues)
	}
	return v.leaf("", outer, boost)
}
