package plan

import (
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/query"
)

// functionScore matches as child, with the scores of a query.FunctionScore. Factors are computed in float64, in the
// order of the functions, and the score is rounded to a multiple of 2^-16 and bounded by maxFunctionScore.
type functionScore struct {
	child     node
	functions []function
	score     query.ScoreMode
	boost     query.BoostMode
	maxBoost  float64 // +Inf for none
	least     base.Score
	key, text string
}

// function is a query.Function. It applies to documents of filter; nil: all.
type function struct {
	filter node
	weight float64
	value  valueFunction // nil: 1
	text   string
}

// valueFunction gives a value to documents, 0 or greater. It is read-only.
type valueFunction interface {
	// open returns the function for a segment, for documents in rising order, and an upper bound of the values.
	// The function's result is false for a document to which it does not apply.
	open(m *matcher) (value func(doc base.DocID) (float64, bool, error), bound float64, err error)
}

// maxFunctionScore bounds scores, so that sums of MaxClauses of them fit.
const maxFunctionScore = base.Score(1) << 48

func (*functionScore) isNode() {}

// functionScoreOf compiles a query.FunctionScore.
func functionScoreOf(c *compiler, n *query.FunctionScore, mode Mode, boost float64) (node, error) {
	base := n.Node
	if base == nil {
		base = &query.MatchAll{Boost: 1}
	}
	child, err := c.compile(base, mode, boost)
	if err != nil || child == nil || matchesNothing(child) {
		return child, err
	}
	f := &functionScore{child: child, score: n.ScoreMode, boost: n.BoostMode, maxBoost: n.MaxBoost, least: constantScore(n.MinScore), text: n.String()}
	if f.maxBoost == 0 {
		f.maxBoost = math.Inf(1)
	}
	var keys []string
	for i := range n.Functions {
		q := &n.Functions[i]
		fn := function{weight: 1, text: q.String()}
		if q.Weight != nil {
			fn.weight = *q.Weight
		}
		key := fn.text
		if q.Filter != nil {
			if fn.filter, err = c.compile(q.Filter, mode, 1); err != nil {
				return nil, err
			}
			if fn.filter == nil {
				fn.filter = nothing()
			}
		}
		own := ""
		if fn.value, own, err = valueFunctionOf(c, q); err != nil {
			return nil, err
		}
		keys = append(keys, key, own)
		f.functions = append(f.functions, fn)
	}
	keys = append(keys, withoutFunctions(n))
	f.key = setKey("functions", 0, keys...)
	return f, nil
}

// withoutFunctions identifies the modes.
func withoutFunctions(n *query.FunctionScore) string {
	return (&query.FunctionScore{Node: &query.MatchAll{Boost: 1}, ScoreMode: n.ScoreMode, BoostMode: n.BoostMode, MaxBoost: n.MaxBoost, MinScore: n.MinScore, Boost: 1}).String()
}

func (n *functionScore) filters() []node {
	var filters []node
	for i := range n.functions {
		if f := n.functions[i].filter; f != nil {
			filters = append(filters, f)
		}
	}
	return filters
}

func (n *functionScore) same(o *functionScore) bool {
	return n.key == o.key && sameNode(n.child, o.child) && slices.EqualFunc(n.filters(), o.filters(), sameNode)
}

// functionValue is the value of a function for a document, with its weight.
type functionValue struct {
	value   float64
	applies bool
}

// factor makes one factor of the values of the functions that apply.
func (n *functionScore) factor(values []functionValue) float64 {
	result, weights, applied := 1.0, 0.0, 0
	for i, v := range values {
		if !v.applies {
			continue
		}
		weights += n.functions[i].weight
		if applied++; applied == 1 {
			result = v.value
			continue
		}
		switch n.score {
		case query.ScoreMultiply:
			result = float64(result * v.value)
		case query.ScoreSum, query.ScoreAvg:
			result += v.value
		case query.ScoreFirst:
		case query.ScoreMax:
			result = max(result, v.value)
		case query.ScoreMin:
			result = min(result, v.value)
		}
	}
	if n.score == query.ScoreAvg && applied > 0 && weights > 0 {
		result /= weights
	}
	return result
}

// combine returns the score of a document of child.
func (n *functionScore) combine(score base.Score, factor float64) base.Score {
	s := score.Float64()
	if factor = min(factor, n.maxBoost); math.IsNaN(factor) { // such as 0 · infinity
		factor = 0
	}
	switch n.boost {
	case query.BoostMultiply:
		s = float64(s * factor)
	case query.BoostReplace:
		s = factor
	case query.BoostSum:
		s += factor
	case query.BoostAvg:
		s = float64(s+factor) / 2
	case query.BoostMax:
		s = max(s, factor)
	case query.BoostMin:
		s = min(s, factor)
	}
	if !(s > 0) { // not a number, too
		return 0
	}
	return base.Score(min(math.Round(s*(1<<base.ScoreFractionBits)), float64(maxFunctionScore)))
}

// bound is an upper bound of the factors, if the bounds of the functions are bounds of their values with weights.
func (n *functionScore) bound(bounds []float64) float64 {
	most, product, sum := 1.0, 1.0, 0.0
	for i, b := range bounds {
		most = max(most, b)
		if w := n.functions[i].weight; n.score == query.ScoreAvg && w > 0 {
			most = max(most, b/w)
		}
		product *= max(b, 1)
		sum += b
	}
	switch n.score {
	case query.ScoreMultiply:
		return product
	case query.ScoreSum:
		return max(sum, 1)
	}
	return most
}

// functionIterator yields the documents of an iterator whose scores, changed by functions, are high enough.
type functionIterator struct {
	iterator
	node     *functionScore
	parts    []functionPart
	values   []functionValue
	maxScore base.Score
	pulse    *pulse
	scored   base.DocID // the document of score
	score    base.Score
}

var _ iterator = (*functionIterator)(nil)

// functionPart is a function in a segment. filter is nil for all documents.
type functionPart struct {
	filter iterator
	none   bool // no document has the filter
	value  func(doc base.DocID) (float64, bool, error)
}

func (f *functionIterator) MaxScore() base.Score { return f.maxScore }

func (f *functionIterator) Score() base.Score {
	doc := f.DocID()
	if f.scored != doc {
		f.evaluate(doc)
		f.scored, f.score = doc, f.node.combine(f.iterator.Score(), f.node.factor(f.values))
	}
	return f.score
}

// evaluate sets the values for a document.
func (f *functionIterator) evaluate(doc base.DocID) {
	for i := range f.parts {
		p := &f.parts[i]
		v := functionValue{}
		if !p.none && (p.filter == nil || reaches(p.filter, doc)) {
			v = functionValue{1, true}
			if p.value != nil {
				var err error
				if v.value, v.applies, err = p.value(doc); err != nil {
					f.pulse.fail(err)
				}
			}
			v.value = float64(v.value * f.node.functions[i].weight)
		}
		f.values[i] = v
	}
}

func (f *functionIterator) NextGEQ(target base.DocID) base.DocID {
	doc := f.iterator.NextGEQ(target)
	for f.node.least > 0 && doc != base.NoDocID && f.Score() < f.node.least {
		if f.pulse.stopped() {
			return f.iterator.NextGEQ(base.NoDocID)
		}
		doc = f.iterator.NextGEQ(doc + 1)
	}
	return doc
}

func (b *treeBuilder) functionScore(n *functionScore) (iterator, error) {
	child, err := b.build(n.child)
	if err != nil || child == nil {
		return nil, err
	}
	it := &functionIterator{iterator: child, node: n, values: make([]functionValue, len(n.functions)), pulse: b.pulse, scored: base.NoDocID}
	bounds := make([]float64, len(n.functions))
	for i := range n.functions {
		f := &n.functions[i]
		var p functionPart
		if f.filter != nil {
			if p.filter, err = b.build(f.filter); err != nil {
				return nil, err
			}
			p.none = p.filter == nil
		}
		bounds[i] = 1
		if f.value != nil {
			if p.value, bounds[i], err = f.value.open(b.matcher); err != nil {
				return nil, err
			}
		}
		if bounds[i] *= f.weight; f.weight == 0 {
			bounds[i] = 0
		}
		it.parts = append(it.parts, p)
	}
	it.maxScore = n.combine(child.MaxScore(), n.bound(bounds)*(1+1e-9)) + 1 // products are rounded
	return it, nil
}
