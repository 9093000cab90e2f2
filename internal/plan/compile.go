package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/query"
)

type term struct {
	field base.FieldID
	bytes []byte
}

// compiler turns query trees into planned ones; the trees of several modes share terms and
// notes.
type compiler struct {
	analyzers analyzers
	fields    []string // by FieldID
	positions bool     // the index has positions
	weighted  bool     // the index stores weights
	tokens    []analysis.Token
	text      []byte
	keepStops bool // the query has nothing but stop words
	stopped   bool // a stop word was left out

	memory *planMemory // of the trees
	terms  []term
	notes  []string

	snapshot *index.Snapshot
	now      time.Time                // of date maths; zero: not asked for yet
	similar  map[string][]similarTerm // by key of a blend; of one query
	list     postings.List
}

// compile returns the planned form of n in ModeOr or ModeAnd, nil if analysis leaves no term.
func (c *compiler) compile(n query.Node, mode Mode, boost float64) (node, error) {
	if c.snapshot != nil && c.snapshot.Options.Mapping != nil {
		boost *= fieldWeight(c.snapshot, n)
		if name, text, ok := valueOf(n); ok {
			f, err := c.searchable(name)
			if err != nil {
				return nil, err
			}
			if f != nil {
				return c.typedValue(f, text, boost*factor(boostOf(n)))
			}
		}
		n = c.keywordNode(n)
	}
	switch n := n.(type) {
	case *query.Term:
		if n.Exact {
			return c.exact(n.Field, n.Text, boost*factor(n.Boost))
		}
		return c.leaf(n.Field, n.Text, boost*factor(n.Boost), nil)
	case *query.Phrase:
		return c.leaf(n.Field, n.Text, boost*factor(n.Boost), n)
	case *query.Words:
		return c.words(n, mode, boost*factor(n.Boost))
	case *query.Weights:
		return c.weights(n, mode, boost*factor(n.Boost))
	case *query.Boolean:
		return c.group(n, mode, boost*factor(n.Boost))
	case *query.Fuzzy:
		return c.fuzzy(n, boost*factor(n.Boost))
	case *query.DisMax:
		return c.disMax(n, mode, boost*factor(n.Boost))
	case *query.Boosting:
		return c.boosting(n, mode, boost*factor(n.Boost))
	case *query.FunctionScore:
		return functionScoreOf(c, n, mode, boost*factor(n.Boost))
	case *query.Combined:
		return combinedFields(c, n, mode, boost*factor(n.Boost))
	case *query.TermsSet:
		return termsSet(c, n, boost*factor(n.Boost))
	case *query.MoreLikeThis:
		return moreLikeThis(c, n, boost*factor(n.Boost))
	}
	return c.constant(n, mode, boost)
}

// valueOf returns the field and the text of a node that is one value in a field that is not of type text.
func valueOf(n query.Node) (field, text string, ok bool) {
	switch n := n.(type) {
	case *query.Term:
		return n.Field, n.Text, true
	case *query.Phrase:
		return n.Field, n.Text, !n.Prefix
	case *query.Words:
		return n.Field, n.Text, n.Similar == nil && !n.Prefix
	}
	return "", "", false
}

// keywordNode replaces a text with options in a keyword, whose terms are whole values.
func (c *compiler) keywordNode(n query.Node) query.Node {
	switch n := n.(type) {
	case *query.Phrase:
		if n.Prefix && c.typed(n.Field) != nil {
			return &query.Prefix{Field: n.Field, Text: n.Text, Boost: n.Boost, Exact: true}
		}
	case *query.Words:
		if c.typed(n.Field) == nil {
			return n
		}
		if n.Prefix {
			return &query.Prefix{Field: n.Field, Text: n.Text, Boost: n.Boost, Exact: true}
		}
		return &query.Fuzzy{Field: n.Field, Text: n.Text, Boost: n.Boost, Exact: true, Similarity: *n.Similar}
	}
	return n
}

func boostOf(n query.Node) float64 {
	switch n := n.(type) {
	case *query.Term:
		return n.Boost
	case *query.Phrase:
		return n.Boost
	case *query.Words:
		return n.Boost
	}
	return 1
}

// In a Boost field, 0 means 1.
func factor(boost float64) float64 { return cmp.Or(boost, 1) }

func (c *compiler) group(b *query.Boolean, mode Mode, boost float64) (node, error) {
	g := c.memory.group(len(b.Clauses))
	for _, clause := range b.Clauses {
		child, err := c.compile(clause.Node, mode, boost)
		if err != nil {
			return nil, err
		}
		switch {
		case child == nil:
		case clause.Occur == query.MustNot:
			g.excluded = append(g.excluded, child)
		case clause.Occur == query.Filter:
			g.required = append(g.required, asConstant(child, 0, clause.Node))
		case clause.Occur == query.Must, clause.Occur == query.Plain && mode == ModeAnd && b.AtLeast == "":
			g.required = append(g.required, child)
		default:
			g.optional = append(g.optional, child)
		}
	}
	if err := g.demand(b.AtLeast); err != nil {
		return nil, err
	}
	if g.matchesNothing() {
		if len(g.excluded) == 0 {
			return nil, nil
		}
		c.note("%q only excludes: it matches nothing without a word to look for", b.String())
	}
	return g.simplify(), nil
}

// demand sets the number of optional members that have to match. Besides required ones, they become a
// group of their own.
func (g *group) demand(m query.Minimum) error {
	if m == "" {
		return nil
	}
	n, err := m.Of(len(g.optional))
	if err != nil || n == 0 {
		return err
	}
	if len(g.required) == 0 {
		g.atLeast = n
		return nil
	}
	g.required = append(g.required, (&group{optional: g.optional, atLeast: n}).simplify())
	g.optional = nil
	return nil
}

func (c *compiler) words(w *query.Words, mode Mode, boost float64) (node, error) {
	id, terms, arcs, err := c.analyze(w.Field, w.Text, false /* phrase */)
	if err != nil || len(terms) == 0 {
		return nil, err
	}
	required := w.Occur == query.Must || w.Occur == query.Plain && mode == ModeAnd && w.AtLeast == ""
	if arcs == nil && !w.Prefix && w.Similar == nil && w.AtLeast == "" && areNew(terms) {
		return distinct(c, id, terms, required, boost), nil
	}
	g := c.memory.group(len(terms))
	members := &g.optional
	if required {
		members = &g.required
	}
	if arcs != nil && !w.Prefix && w.Similar == nil {
		nodes, err := c.sections(id, terms, arcs, w.Text, boost)
		if err != nil {
			return nil, err
		}
		*members, terms = append(*members, nodes...), nil
	}
	for i := range terms {
		n, err := c.word(w, id, terms[i:i+1], i == len(terms)-1, boost)
		if err != nil {
			return nil, err
		}
		*members = append(*members, n)
	}
	if !required {
		if err := g.demand(w.AtLeast); err != nil {
			return nil, err
		}
	}
	return g.simplify(), nil
}

// areNew reports whether the numbers of terms rise. Then all terms are different. This is the case in a
// text without repeated words.
func areNew(terms []int) bool {
	for i := 1; i < len(terms); i++ {
		if terms[i] <= terms[i-1] {
			return false
		}
	}
	return true
}

// distinct is the simplified group of different terms.
func distinct(c *compiler, id base.FieldID, terms []int, required bool, boost float64) node {
	if len(terms) == 1 {
		return c.memory.leaf(leaf{field: id, terms: terms, boost: boost})
	}
	members := c.memory.nodes.take(len(terms))
	leaves := c.memory.leaves.take(len(terms))
	for i := range terms {
		leaves[i] = leaf{field: id, terms: terms[i : i+1 : i+1], boost: boost}
		members[i] = &leaves[i]
	}
	g := c.memory.groups.one()
	*g = group{optional: members}
	if required {
		*g = group{required: members}
	}
	return g
}

func (c *compiler) word(w *query.Words, id base.FieldID, terms []int, last bool, boost float64) (node, error) {
	switch {
	case w.Prefix && last:
		text := string(c.terms[terms[0]].bytes)
		return c.prefix(&query.Prefix{Field: w.Field, Text: text, Exact: true}, boost)
	case w.Similar != nil:
		return c.similarTo(id, string(c.terms[terms[0]].bytes), w.Similar, boost)
	}
	return c.memory.leaf(leaf{field: id, terms: terms, boost: boost}), nil
}

// weights makes leaves of the terms whose weight is not 0. Terms of a field of type sparse_vector are optional in
// every mode.
func (c *compiler) weights(w *query.Weights, mode Mode, boost float64) (node, error) {
	field, err := vectorField(c, w.Field)
	if err != nil {
		return nil, err
	}
	if len(w.Terms) > query.MaxClauses {
		return nil, tooManyTerms()
	}
	g := c.memory.group(len(w.Terms))
	for _, t := range w.Terms {
		if t.Weight == 0 {
			continue
		}
		c.text = append(c.text[:0], t.Term...)
		terms := c.memory.numbers.take(1)
		terms[0] = c.intern(field, c.text)
		l := c.memory.leaf(leaf{field: field, terms: terms, boost: boost * t.Weight})
		if mode == ModeAnd && field == 0 {
			g.required = append(g.required, l)
		} else {
			g.optional = append(g.optional, l)
		}
	}
	switch {
	case !g.matchesNothing():
	case field != 0:
		return nothing(), nil
	default:
		return nil, nil
	}
	return g.simplify(), nil
}

// vectorField returns the field of a vector.
func vectorField(c *compiler, name string) (base.FieldID, error) {
	if name != "" {
		if f := c.typed(name); f == nil || !f.Type.Vector() {
			return 0, fmt.Errorf("a vector of tokens and weights for %q, which is no field of type %s: %w", name, mapping.SparseVector, base.ErrBadInput)
		}
		return base.FieldID(slices.Index(c.fields, name)), nil
	}
	if c.weighted {
		return 0, nil
	}
	if c.snapshot != nil && c.snapshot.Options.Mapping != nil {
		for _, f := range c.snapshot.Options.Mapping.Fields() {
			if f.Type.Vector() {
				return 0, fmt.Errorf("a query of terms and weights without a field: write %s:{…}: %w", f.Name, base.ErrBadInput)
			}
		}
	}
	return 0, fmt.Errorf("a query of terms and weights, but the index is one of texts: %w", base.ErrBadInput)
}

// leaf analyses a text; several terms are a phrase, with gaps for words that the analyzer
// drops. Without positions, the terms of one word ("wi-fi") are all required instead, and a
// phrase is an error. phrase is nil for a word.
func (c *compiler) leaf(field, text string, boost float64, phrase *query.Phrase) (node, error) {
	id, terms, arcs, err := c.analyze(field, text, phrase != nil)
	if err != nil || len(terms) == 0 {
		return nil, err
	}
	if phrase != nil && phrase.Prefix {
		return c.phrasePrefix(id, terms, phrase, boost)
	}
	if len(terms) > 1 && phrase != nil && !c.positions {
		return nil, noPositions(text)
	}
	if arcs != nil {
		return c.alternatives(id, terms, arcs, text, boost)
	}
	l := c.memory.leaf(leaf{field: id, terms: terms, boost: boost})
	if len(terms) == 1 {
		return l, nil
	}
	if !c.positions {
		return c.allOf(*l, text), nil
	}
	if phrase != nil {
		l.slop = uint32(phrase.Slop)
	}
	l.offsets = c.offsets(len(terms))
	return l, nil
}

// offsets of the first n tokens.
func (c *compiler) offsets(n int) []uint32 {
	offsets := c.memory.offsets.take(n)
	for i, t := range c.tokens[:n] {
		offsets[i] = t.Position - c.tokens[0].Position
	}
	return offsets
}

func noPositions(text string) error {
	return fmt.Errorf("phrase %q: the index has no positions, which phrases need: build it with griffin index, without --no-positions: %w", text, base.ErrBadInput)
}

// analyze returns the terms of a text as indexes into c.terms, with a note if there are none,
// and leaves the tokens in c.tokens. arcs is as of analysis.Arcs.
func (c *compiler) analyze(field, text string, phrase bool) (id base.FieldID, terms []int, arcs []analysis.Arc, err error) {
	id, err = c.field(field)
	if err != nil {
		return 0, nil, nil, err
	}
	a, err := c.tokenize(field, text, phrase)
	if err != nil {
		return 0, nil, nil, err
	}
	if len(c.tokens) == 0 {
		c.note("%q is left out: the index's analyzer, %s, makes no term of it", text, a.Name())
		return id, nil, nil, nil
	}
	if len(c.tokens) > query.MaxClauses {
		return 0, nil, nil, tooManyTerms()
	}
	terms = c.memory.numbers.take(len(c.tokens))
	for i, t := range c.tokens {
		terms[i] = c.intern(id, t.Term)
	}
	if len(c.terms) > query.MaxClauses {
		return 0, nil, nil, tooManyTerms()
	}
	return id, terms, analysis.Arcs(a), nil
}

func tooManyTerms() error {
	return &query.Error{Kind: query.ErrTooManyClauses, Reason: fmt.Sprintf("its words become more than %d index terms", query.MaxClauses)}
}

// intern returns the index of a new or known term in c.terms.
func (c *compiler) intern(field base.FieldID, text []byte) int {
	return internBefore(c, len(c.terms), field, text)
}

// internBefore is intern of a term that is not among c.terms[known:].
func internBefore(c *compiler, known int, field base.FieldID, text []byte) int {
	for i, t := range c.terms[:known] {
		if t.field == field && bytes.Equal(t.bytes, text) {
			return i
		}
	}
	own := c.memory.bytes.take(len(text))
	copy(own, text)
	c.terms = append(c.terms, term{field, own})
	return len(c.terms) - 1
}

func (c *compiler) field(name string) (base.FieldID, error) {
	if i := slices.Index(c.fields, name); i >= 0 {
		if name != "" && c.snapshot != nil && c.snapshot.Fields[i].WeightScale != 0 {
			_, err := c.searchable(name)
			return 0, err
		}
		return base.FieldID(i), nil
	}
	if f, err := c.searchable(name); err != nil {
		return 0, err
	} else if f != nil {
		return 0, noTerms(f)
	}
	if c.snapshot != nil && c.snapshot.Options.Mapping != nil {
		if f, ok := c.snapshot.Options.Mapping.Field(name); ok && f.NoIndex {
			return 0, searchableField(f)
		}
	}
	return 0, fmt.Errorf("the index has no field %q: %w", name, base.ErrBadInput)
}

func (c *compiler) note(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	for _, n := range c.notes {
		if n == note {
			return
		}
	}
	c.notes = append(c.notes, note)
}
