package plan

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/query"
)

// combined is a term in several fields that are scored as one: BM25F of Robertson, Zaragoza and Taylor, "Simple
// BM25 extension to multiple weighted fields", CIKM 2004, §3, as in Lucene's CombinedFieldQuery:
//
//	freq = sum of weight*freq of the fields, length and mean length likewise
//	score = idf * boost * freq / (freq + k1*(1 - b + b*length/mean length))
//
// We differ from Lucene: the document frequency of the combined field is counted, not the greatest one
// of the fields, and lengths are exact.
//
// Worked number: weights 2 and 1, frequencies 1 and 3, lengths 2 and 16, mean lengths 3 and 14, idf 2, k1 0.9, b 0.4
// give freq 5, length 20, mean length 20, 5/5.9 * 2 = 1.6949 (tested).
type combined struct {
	leaves  []*leaf   // one a field, with the boost 1
	weights []float64 // of the fields
	boost   float64
	// docFreq is the number of live documents; set by Bind.
	docFreq uint64
}

func (*combined) isNode() {}

func (n *combined) same(o *combined) bool {
	return slices.Equal(n.weights, o.weights) && slices.EqualFunc(n.leaves, o.leaves, (*leaf).same)
}

// combinedFields compiles a query.Combined.
func combinedFields(c *compiler, n *query.Combined, mode Mode, boost float64) (node, error) {
	if c.weighted {
		return nil, fmt.Errorf("%s: the index stores learned weights, which have no lengths of fields: %w", n, base.ErrBadInput)
	}
	groups, err := groupFields(c, n)
	if err != nil {
		return nil, err
	}
	d := &disMax{text: n.String()}
	for _, fields := range groups {
		var child node
		if f := c.typed(fields[0].Name); f != nil {
			child, err = c.compile(&query.Words{Field: f.Name, Text: n.Text, Occur: n.Occur, AtLeast: n.AtLeast}, mode, boost*factor(fields[0].Weight))
		} else {
			child, err = combinedGroup(c, n, fields, mode, boost)
		}
		if err != nil {
			return nil, err
		}
		if child != nil && !matchesNothing(child) {
			d.children = append(d.children, child)
		}
	}
	switch len(d.children) {
	case 0:
		return nil, nil
	case 1:
		return d.children[0], nil
	}
	return d, nil
}

// groupFields returns the fields by analyzer, each once, with the boost of its mapping in its weight.
func groupFields(c *compiler, n *query.Combined) ([][]query.FieldWeight, error) {
	var groups [][]query.FieldWeight
	places := map[string]int{}
	for _, f := range n.Fields {
		weight := float64(factor(f.Weight) * fieldWeight(c.snapshot, &query.Term{Field: f.Name}))
		name := "text " + c.analyzers.scheme.Name(f.Name, analysis.Queries) + " " + c.analyzers.scheme.Name(f.Name, analysis.Documents)
		if typed := c.typed(f.Name); typed != nil {
			if !n.ByAnalyzer || typed.Type != mapping.Keyword {
				return nil, fmt.Errorf("field %q is of type %s: only texts are combined: %w", f.Name, typed.Type, base.ErrBadInput)
			}
			name = "keyword " + f.Name
		} else if _, err := c.field(f.Name); err != nil {
			return nil, err
		}
		at, known := places[name]
		if !known {
			at = len(groups)
			places[name] = at
			groups = append(groups, nil)
		}
		if i := slices.IndexFunc(groups[at], func(g query.FieldWeight) bool { return g.Name == f.Name }); i >= 0 {
			groups[at][i].Weight += weight
		} else {
			groups[at] = append(groups[at], query.FieldWeight{Name: f.Name, Weight: weight})
		}
	}
	if len(groups) > 1 && !n.ByAnalyzer {
		return nil, fmt.Errorf("fields %q and %q have different analyzers: only fields with the same are combined: %w", groups[0][0].Name, groups[1][0].Name, base.ErrBadInput)
	}
	return groups, nil
}

// combinedGroup compiles a text in fields with the same analyzer.
func combinedGroup(c *compiler, n *query.Combined, fields []query.FieldWeight, mode Mode, boost float64) (node, error) {
	a, err := c.tokenize(fields[0].Name, n.Text, false /* phrase */)
	if err != nil {
		return nil, err
	}
	if len(c.tokens) == 0 {
		c.note("%q is left out: the index's analyzer, %s, makes no term of it", n.Text, a.Name())
		return nil, nil
	}
	g := c.memory.group(len(c.tokens))
	members := &g.optional
	required := n.Occur == query.Must || n.Occur == query.Plain && mode == ModeAnd && n.AtLeast == ""
	if required {
		members = &g.required
	}
	sections, err := combinedSections(c, a)
	if err != nil {
		return nil, err
	}
	for _, paths := range sections {
		either := c.memory.group(len(paths))
		for _, p := range paths {
			all := c.memory.group(len(p.Tokens))
			for _, token := range p.Tokens {
				term, err := combinedTerm(c, c.tokens[token].Term, fields, boost)
				if err != nil {
					return nil, err
				}
				all.required = append(all.required, term)
			}
			either.optional = append(either.optional, all.simplify())
		}
		*members = append(*members, either.simplify())
	}
	if len(c.terms) > query.MaxClauses {
		return nil, tooManyTerms()
	}
	if !required {
		if err := g.demand(n.AtLeast); err != nil {
			return nil, err
		}
	}
	return g.simplify(), nil
}

// combinedSections returns the words of c.tokens with their alternatives.
func combinedSections(c *compiler, a analysis.Analyzer) ([]analysis.Section, error) {
	if arcs := analysis.Arcs(a); arcs != nil {
		return analysis.Sections(c.tokens, arcs, maxPaths)
	}
	sections := make([]analysis.Section, len(c.tokens))
	for i := range c.tokens {
		sections[i] = analysis.Section{{Tokens: []int{i}}}
	}
	return sections, nil
}

func combinedTerm(c *compiler, text []byte, fields []query.FieldWeight, boost float64) (node, error) {
	n := &combined{boost: boost}
	for _, f := range fields {
		id, err := c.field(f.Name)
		if err != nil {
			return nil, err
		}
		terms := c.memory.numbers.take(1)
		terms[0] = c.intern(id, text)
		n.leaves = append(n.leaves, c.memory.leaf(leaf{field: id, terms: terms, boost: 1}))
		n.weights = append(n.weights, f.Weight)
	}
	return n, nil
}

// walkCombined visits the combined terms of a tree.
func walkCombined(n node, visit func(n *combined)) {
	all := func(nodes []node) {
		for _, child := range nodes {
			walkCombined(child, visit)
		}
	}
	switch n := n.(type) {
	case *combined:
		visit(n)
	case *group:
		all(n.required)
		all(n.optional)
		all(n.excluded)
	case *constant:
		walkCombined(n.child, visit)
	case *disMax:
		all(n.children)
	case *functionScore:
		walkCombined(n.child, visit)
		all(n.filters())
	case *boosting:
		walkCombined(n.positive, visit)
		walkCombined(n.negative, visit)
	}
}

// countCombined sets the document frequencies.
func (ws *words) countCombined(n *combined) error {
	n.docFreq = 0
	for i := range ws.planner.snapshot.Segments {
		view := &ws.planner.snapshot.Segments[i]
		var lists []*postings.List
		for _, l := range n.leaves {
			if list := ws.list(i, l.terms[0]); list.DocFreq > 0 {
				lists = append(lists, list)
			}
		}
		switch len(lists) {
		case 0:
			continue
		case 1:
			n.docFreq += view.Deletions.DocFreq(lists[0])
			continue
		}
		bits := cleared(nil, view.NumDocs())
		m := matcher{}
		for _, list := range lists {
			if err := m.markList(bits, list); err != nil {
				return fmt.Errorf("segment %s: term %q: %w", view.Name, ws.terms[n.leaves[0].terms[0]].bytes, err)
			}
		}
		if live := view.Live.Words(); live != nil {
			and(bits, live)
		}
		n.docFreq += uint64(ones(bits))
	}
	return nil
}

// avgLen is the mean length of the combined field.
func (ws *words) avgLen(n *combined) (sum float64) {
	for i, l := range n.leaves {
		sum += float64(n.weights[i] * ws.planner.snapshot.Fields[l.field].AvgLen())
	}
	return sum
}

func (ws *words) combinedIDF(n *combined) float64 {
	return score.IDF(ws.planner.snapshot.Fields[n.leaves[0].field].NumDocs, n.docFreq)
}

func (ws *words) combinedScorer(n *combined) score.Term {
	return ws.planner.bm25.NewTerm(min(ws.combinedIDF(n)*n.boost, maxWeight), 1, ws.avgLen(n))
}

// combinedIterator yields the documents of the term in any field.
type combinedIterator struct {
	alternatives
	fields   []combinedField
	scorer   score.Term
	maxScore base.Score
}

var _ iterator = (*combinedIterator)(nil)

// combinedField is a field of a combinedIterator. list is nil without the term in the segment, and lengths are nil
// without the field.
type combinedField struct {
	list    *termIterator
	lengths []uint32
	weight  float64
}

func (c *combinedIterator) MaxScore() base.Score { return c.maxScore }

func (c *combinedIterator) Score() base.Score {
	freq, length := c.measure()
	if freq == 0 { // damaged block: the run reports the cursor's error
		return 0
	}
	return c.scorer.ScoreCombined(float32(freq), float32(length))
}

// measure returns the weighted frequency and length at the current document.
func (c *combinedIterator) measure() (freq, length float64) {
	for i := range c.fields {
		f := &c.fields[i]
		if f.lengths != nil {
			length += float64(f.weight * float64(f.lengths[c.doc]))
		}
		if f.list != nil && f.list.DocID() == c.doc {
			freq += float64(f.weight * float64(f.list.cursor.Freq()))
			f.list.scored++
		}
	}
	return freq, length
}

// combined builds the iterator of a combined term.
func (b *treeBuilder) combined(n *combined) (iterator, error) {
	it := &combinedIterator{scorer: b.words.combinedScorer(n)}
	view := &b.words.planner.snapshot.Segments[b.segment]
	var children []iterator
	for i, l := range n.leaves {
		f := combinedField{weight: n.weights[i]}
		if int(l.field) < len(view.Meta().Fields) {
			if err := view.CheckLengths(l.field); err != nil {
				return nil, err
			}
			f.lengths = view.Lengths(l.field)
		}
		child, err := b.term(l)
		if err != nil {
			return nil, err
		}
		if child != nil {
			f.list = child.(*termIterator)
			children = append(children, child)
		}
		it.fields = append(it.fields, f)
	}
	if len(children) == 0 {
		return nil, nil
	}
	it.reset(children, b.pulse)
	it.maxScore = it.scorer.Limit()
	return it, nil
}

// docFreqOf bounds the documents of a combined term in a segment.
func (ws *words) docFreqOf(segment int, n *combined) (sum int) {
	for _, l := range n.leaves {
		sum += ws.leafDocFreq(segment, l)
	}
	return min(sum, ws.numDocs(segment))
}

// absorbCombined is absorb for a combined term.
func absorbCombined(nodes []node, n *combined) bool {
	for _, other := range nodes {
		if o, ok := other.(*combined); ok && o.same(n) && o.boost+n.boost <= query.MaxBoost {
			o.boost += n.boost
			return true
		}
	}
	return false
}
