package plan

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/automaton"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// constant compiles the nodes whose documents all have the same score.
func (c *compiler) constant(n query.Node, mode Mode, boost float64) (node, error) {
	switch n := n.(type) {
	case *query.Constant:
		child, err := c.compile(n.Node, mode, 1)
		if err != nil || child == nil {
			return nil, err
		}
		return asConstant(child, constantScore(boost*n.Score), n), nil
	case *query.MatchAll:
		return wrapSet("all", n.String(), everything{}, constantScore(boost*factor(n.Boost))), nil
	case *query.IDs:
		ids := slices.Compact(slices.Sorted(slices.Values(n.IDs)))
		return wrapSet(setKey("ids", 0, ids...), n.String(), &idSource{ids}, constantScore(boost*factor(n.Boost))), nil
	case *query.Exists:
		return c.exists(n, boost*factor(n.Boost))
	case *query.Prefix:
		return c.prefix(n, boost*factor(n.Boost))
	case *query.Wildcard:
		pattern := c.analyzers.normalWildcard(c.typed(n.Field), c.cased(n.Field, n.Pattern, n.Exact))
		p, err := automaton.Wildcard(pattern, query.DefaultStates)
		if err != nil {
			return nil, fmt.Errorf("wildcard %s: %w", n, err)
		}
		return c.pattern("wildcard", n.Field, pattern, n.String(), p, boost*factor(n.Boost))
	case *query.Regexp:
		return c.regexp(n, boost*factor(n.Boost))
	case *query.Terms:
		return c.values(n, boost*factor(n.Boost))
	case *query.Range:
		f, err := c.searchable(n.Field)
		if err != nil {
			return nil, err
		}
		if f != nil && (f.Type != mapping.Keyword || f.HasOrdinals()) {
			return c.typedRange(f, n, boost*factor(n.Boost))
		}
		return c.termRange(n, boost*factor(n.Boost))
	case *query.GeoDistance:
		return c.geo(n.Field, n, newGeoDistance(n), boost*factor(n.Boost))
	case *query.GeoPolygon:
		return c.geo(n.Field, n, newGeoPolygon(n), boost*factor(n.Boost))
	case *query.GeoBox:
		return c.geo(n.Field, n, newGeoBox(n), boost*factor(n.Boost))
	}
	return nil, fmt.Errorf("query node of type %T: %w", n, base.ErrBadInput)
}

// asConstant gives the documents of n, the node of a query, a score.
func asConstant(n node, score base.Score, of query.Node) node {
	switch n := n.(type) {
	case *constant:
		return &constant{child: n.child, score: score, text: n.text}
	case *group:
		if n.matchesNothing() {
			return n
		}
	}
	if c, ok := of.(*query.Constant); ok {
		of = c.Node
	}
	return &constant{child: n, score: score, text: of.String()}
}

// setKey separates texts that may contain any byte.
func setKey(kind string, field base.FieldID, texts ...string) string {
	key := make([]byte, 0, 64)
	key = strconv.AppendUint(append(append(key, kind...), ' '), uint64(field), 10)
	for _, t := range texts {
		key = strconv.AppendInt(append(key, ' '), int64(len(t)), 10)
		key = append(append(key, ':'), t...)
	}
	return string(key)
}

func (c *compiler) exists(n *query.Exists, boost float64) (node, error) {
	if f := c.typed(n.Field); f != nil && (f.HasNumbers() || f.HasOrdinals()) {
		return wrapSet(setKey("values", 0, f.Name), n.String(), columnExists{f.Name}, constantScore(boost)), nil
	}
	if f := c.typed(n.Field); f != nil && f.Type.Vector() {
		id := base.FieldID(slices.Index(c.fields, n.Field))
		return wrapSet(setKey("exists", id), n.String(), existing{id}, constantScore(boost)), nil
	}
	id, err := c.field(n.Field)
	if err != nil {
		return nil, err
	}
	return wrapSet(setKey("exists", id), n.String(), existing{id}, constantScore(boost)), nil
}

// cased brings a text to the letter case of a field's terms.
func (c *compiler) cased(field, text string, exact bool) string {
	if exact || text == "" || c.typed(field) != nil {
		return text
	}
	a, err := c.analyzers.of(field, analysis.Documents)
	if err != nil {
		return text // the field's texts have the same error
	}
	c.text = append(c.text[:0], 'Q')
	if c.tokens = a.Tokens(c.tokens[:0], c.text); len(c.tokens) == 1 && string(c.tokens[0].Term) == "q" {
		return strings.ToLower(text)
	}
	return text
}

// exact makes a leaf of a term of the index.
func (c *compiler) exact(field, text string, boost float64) (node, error) {
	id, err := c.field(field)
	if err != nil {
		return nil, err
	}
	terms := c.memory.numbers.take(1)
	terms[0] = c.intern(id, []byte(text))
	if len(c.terms) > query.MaxClauses {
		return nil, tooManyTerms()
	}
	return c.memory.leaf(leaf{field: id, terms: terms, boost: boost}), nil
}

func (c *compiler) prefix(n *query.Prefix, boost float64) (node, error) {
	id, err := c.field(n.Field)
	if err != nil {
		return nil, err
	}
	prefix := c.analyzers.normal(c.typed(n.Field), c.cased(n.Field, n.Text, n.Exact))
	return wrapSet(setKey("prefix", id, prefix), n.String(), &prefixSource{id, []byte(prefix)}, constantScore(boost)), nil
}

func (c *compiler) regexp(n *query.Regexp, boost float64) (node, error) {
	states := n.MaxStates
	if states == 0 {
		states = query.DefaultStates
	}
	pattern := c.analyzers.normal(c.typed(n.Field), n.Pattern)
	p, err := automaton.Regexp(pattern, states)
	if err != nil {
		return nil, err
	}
	return c.pattern("regexp", n.Field, pattern, n.String(), p, boost)
}

func (c *compiler) pattern(kind, field, pattern, text string, p *automaton.Pattern, boost float64) (node, error) {
	id, err := c.field(field)
	if err != nil {
		return nil, err
	}
	return wrapSet(setKey(kind, id, pattern), text, &patternSource{id, p}, constantScore(boost)), nil
}

func (c *compiler) values(n *query.Terms, boost float64) (node, error) {
	values := slices.Compact(slices.Sorted(slices.Values(n.Values)))
	f, err := c.searchable(n.Field)
	switch {
	case err != nil:
		return nil, err
	case f != nil && f.Type != mapping.Keyword:
		s, err := c.valueSource(f, values)
		if err != nil || s == nil {
			return nothing(), err
		}
		return wrapSet(setKey("value", 0, append([]string{f.Name}, values...)...), n.String(), s, constantScore(boost)), nil
	}
	id, err := c.field(n.Field)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nothing(), nil
	}
	for i := range values {
		values[i] = c.analyzers.normal(f, values[i])
	}
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	terms := make([][]byte, len(values))
	for i, v := range values {
		terms[i] = []byte(v)
	}
	return wrapSet(setKey("terms", id, values...), n.String(), &termsSource{id, terms}, constantScore(boost)), nil
}

// termRange is a range of terms in byte order.
func (c *compiler) termRange(n *query.Range, boost float64) (node, error) {
	id, err := c.field(n.Field)
	if err != nil {
		return nil, err
	}
	if n.Format != "" || n.Zone != "" {
		return nil, noDates(n)
	}
	s := &rangeSource{field: id, excludeFrom: n.ExcludeFrom, excludeTo: n.ExcludeTo}
	f := c.typed(n.Field)
	s.from, s.to = []byte(c.analyzers.normal(f, c.cased(n.Field, n.From, false))), []byte(c.analyzers.normal(f, c.cased(n.Field, n.To, false)))
	if len(s.to) > 0 && bytes.Compare(s.from, s.to) > 0 {
		return nothing(), nil
	}
	key := setKey(fmt.Sprintf("range %t %t", n.ExcludeFrom, n.ExcludeTo), id, string(s.from), string(s.to))
	return wrapSet(key, n.String(), s, constantScore(boost)), nil
}

func (c *compiler) disMax(n *query.DisMax, mode Mode, boost float64) (node, error) {
	d := &disMax{tie: n.TieBreaker, text: n.String()}
	for _, q := range n.Nodes {
		child, err := c.compile(q, mode, boost)
		if err != nil {
			return nil, err
		}
		if child != nil && !matchesNothing(child) {
			d.children = append(d.children, child)
		}
	}
	switch len(d.children) {
	case 0:
		return nothing(), nil
	case 1:
		return d.children[0], nil
	}
	return d, nil
}

func (c *compiler) boosting(n *query.Boosting, mode Mode, boost float64) (node, error) {
	positive, err := c.compile(n.Positive, mode, boost)
	if err != nil || positive == nil {
		return nil, err
	}
	negative, err := c.compile(n.Negative, mode, 1)
	if err != nil {
		return nil, err
	}
	if negative == nil || matchesNothing(negative) || matchesNothing(positive) {
		return positive, nil
	}
	return &boosting{positive: positive, negative: negative, factor: n.NegativeBoost, text: n.String()}, nil
}
