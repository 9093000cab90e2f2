package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// Explain computes the score of document doc in segment number segment. For ModeAndOr it runs
// the query to find the stage whose hits RunCPU returns, and explains that stage.
func (p *Plan) Explain(ctx context.Context, sc *Scratch, segment int, doc base.DocID) (Explanation, error) {
	views := p.planner.snapshot.Segments
	if segment < 0 || segment >= len(views) || int64(doc) >= int64(views[segment].NumDocs()) {
		return Explanation{}, fmt.Errorf("document %d of segment %d: %w", doc, segment, base.ErrBadInput)
	}
	if p.mode == ModeSaat {
		return Explanation{}, fmt.Errorf("mode saat sums impacts and cannot be explained: use mode or: %w", base.ErrBadInput)
	}
	st := &p.stages[0]
	if len(p.stages) > 1 {
		a, err := p.RunCPU(ctx, sc, nil, nil)
		if err != nil {
			return Explanation{}, err
		}
		if st.mode != a.Mode {
			st = &p.stages[1]
		}
	}
	e := Explanation{Mode: st.mode, Notes: p.notes}
	x := explainer{plan: p, segment: segment, doc: doc, found: map[node]found{}, counted: map[node]bool{}}
	sc.begin(&p.words, segment, ctx)
	if err := x.look(st.root, &sc.tree); err != nil {
		return Explanation{}, fmt.Errorf("segment %s: query %s: %w", views[segment].Name, p.query, err)
	}
	if e.Matches = x.matches(st.root); e.Matches {
		e.Score = x.score(st.root).Float64()
	}
	walkUnits(st.root, false, func(n node, excluded bool) { e.Parts = append(e.Parts, x.part(n, excluded)) })
	e.Parts = append(e.Parts, x.adjustments...)
	return e, nil
}

// walkUnits visits the leaves and the nodes of constant score.
func walkUnits(n node, excluded bool, visit func(n node, excluded bool)) {
	switch n := n.(type) {
	case *leaf, *constant, *combined:
		visit(n, excluded)
	case *group:
		for _, child := range slices.Concat(n.required, n.optional) {
			walkUnits(child, excluded, visit)
		}
		for _, child := range n.excluded {
			walkUnits(child, true, visit)
		}
	case *disMax:
		for _, child := range n.children {
			walkUnits(child, excluded, visit)
		}
	case *functionScore:
		walkUnits(n.child, excluded, visit)
		for _, filter := range n.filters() {
			walkUnits(filter, true, visit)
		}
		visit(n, excluded)
	case *boosting:
		walkUnits(n.positive, excluded, visit)
		walkUnits(n.negative, excluded, visit)
	}
}

type explainer struct {
	plan    *Plan
	segment int
	doc     base.DocID
	found   map[node]found // units that match the document
	counted map[node]bool  // units that contribute to its score
	// adjustments are parts for scores that are not the sum of the parts.
	adjustments []Part
}

type found struct {
	freq   uint32
	sloppy float32
	length float64         // of a combined field
	values []functionValue // of a functionScore
	inner  base.Score      // of its child
	score  base.Score
}

func (x *explainer) look(n node, b *treeBuilder) (err error) {
	walkUnits(n, false, func(n node, _ bool) {
		if err != nil {
			return
		}
		var it iterator
		if it, err = b.build(n); err != nil || it == nil || it.NextGEQ(x.doc) != x.doc {
			return
		}
		f := found{score: it.Score()}
		switch it := it.(type) {
		case *termIterator:
			f.freq = it.cursor.Freq()
		case *phraseIterator:
			f.freq = uint32(len(it.starts))
			f.sloppy = it.freq
		case *combinedIterator:
			freq, length := it.measure()
			f.sloppy, f.length = float32(freq), length
		case *functionIterator:
			f.values = slices.Clone(it.values)
		}
		x.found[n] = f
	})
	var w Work
	if failed := b.finish(&w); err == nil {
		err = failed
	}
	if err == nil {
		err = b.pulse.err
	}
	return err
}

func (x *explainer) matches(n node) bool {
	switch n := n.(type) {
	case *leaf, *constant, *combined, *functionScore:
		_, ok := x.found[n]
		return ok
	case *group:
		return x.matchesGroup(n)
	case *disMax:
		return slices.ContainsFunc(n.children, x.matches)
	case *boosting:
		return x.matches(n.positive)
	}
	return false
}

func (x *explainer) matchesGroup(g *group) bool {
	if slices.ContainsFunc(g.excluded, x.matches) {
		return false
	}
	for _, child := range g.required {
		if !x.matches(child) {
			return false
		}
	}
	if len(g.required) > 0 {
		return true
	}
	optional := 0
	for _, child := range g.optional {
		if x.matches(child) {
			optional++
		}
	}
	return optional >= max(g.atLeast, 1)
}

// score returns the score of n, which matches, and marks the contributing units.
func (x *explainer) score(n node) (sum base.Score) {
	switch n := n.(type) {
	case *leaf, *constant, *combined:
		x.counted[n] = true
		return x.found[n].score
	case *group:
		for _, child := range slices.Concat(n.required, n.optional) {
			if x.matches(child) {
				sum += x.score(child)
			}
		}
	case *disMax:
		var best base.Score
		for _, child := range n.children {
			if x.matches(child) {
				s := x.score(child)
				best = max(best, s)
				sum += s
			}
		}
		return x.adjust(n.text, sum, best+scaled(sum-best, n.tie))
	case *functionScore:
		f := x.found[n]
		f.inner = x.score(n.child)
		x.found[n], x.counted[n] = f, true
		return f.score
	case *boosting:
		sum = x.score(n.positive)
		if x.matches(n.negative) {
			return x.adjust(n.text, sum, scaled(sum, n.factor))
		}
	}
	return sum
}

// adjust adds a part for the difference from the sum of other parts to a score.
func (x *explainer) adjust(text string, sum, score base.Score) base.Score {
	if sum != score {
		x.adjustments = append(x.adjustments, Part{Query: text, Terms: []string{}, DocFreq: []uint64{}, Contribution: score.Float64() - sum.Float64()})
	}
	return score
}

func (x *explainer) part(n node, excluded bool) Part {
	switch n := n.(type) {
	case *combined:
		return x.combined(n, excluded)
	case *functionScore:
		return x.functions(n, excluded)
	}
	l, ok := n.(*leaf)
	if !ok {
		part := Part{Query: n.(*constant).text, Excluded: excluded, Terms: []string{}, DocFreq: []uint64{}}
		if x.counted[n] {
			part.Contribution = x.found[n].score.Float64()
		}
		return part
	}
	return x.leaf(l, excluded)
}

func (x *explainer) leaf(l *leaf, excluded bool) Part {
	p := x.plan
	s := p.planner
	stats := &s.snapshot.Fields[l.field]
	part := Part{
		Field: s.fields[l.field], Excluded: excluded, Freq: x.found[l].freq, SloppyFreq: float64(x.found[l].sloppy), AvgLength: stats.AvgLen(),
		NumDocs: stats.NumDocs, IDF: p.words.idf(l), Boost: l.boost, K1: s.bm25.K1, B: s.bm25.B,
	}
	if stats.WeightScale != 0 {
		part.IDF, part.K1, part.B, part.Scale = 0, 0, 0, stats.WeightScale
	}
	for _, t := range l.terms {
		part.Terms = append(part.Terms, string(p.words.terms[t].bytes))
		part.DocFreq = append(part.DocFreq, p.words.docFreq(l, t))
	}
	view := &s.snapshot.Segments[x.segment]
	if view.CheckLengths(l.field) == nil {
		part.Length = view.Length(l.field, x.doc)
	}
	if x.counted[l] {
		part.Contribution = x.found[l].score.Float64()
	}
	return part
}

// combined has the numbers of the combined field; without the term in the document, its length is 0.
func (x *explainer) combined(n *combined, excluded bool) Part {
	p := x.plan
	part := Part{
		Excluded: excluded, SloppyFreq: float64(x.found[n].sloppy), CombinedLength: x.found[n].length, AvgLength: p.words.avgLen(n),
		NumDocs: p.planner.snapshot.Fields[n.leaves[0].field].NumDocs, DocFreq: []uint64{n.docFreq}, IDF: p.words.combinedIDF(n), Boost: n.boost,
		K1: p.planner.bm25.K1, B: p.planner.bm25.B, Terms: []string{string(p.words.terms[n.leaves[0].terms[0]].bytes)},
	}
	for i, l := range n.leaves {
		part.Combined = append(part.Combined, CombinedField{p.planner.fields[l.field], n.weights[i]})
	}
	if x.counted[n] {
		part.Contribution = x.found[n].score.Float64()
	}
	return part
}

// functions is the part for what functions add to the score of their query.
func (x *explainer) functions(n *functionScore, excluded bool) Part {
	part := Part{Query: n.text, Excluded: excluded, Terms: []string{}, DocFreq: []uint64{}, Functions: []FunctionValue{}}
	f := x.found[n]
	for i, v := range f.values {
		part.Functions = append(part.Functions, FunctionValue{Function: n.functions[i].text, Applies: v.applies, Value: v.value})
	}
	if x.counted[n] {
		part.Contribution = f.score.Float64() - f.inner.Float64()
	}
	return part
}
