package plan

import (
	"context"
	"fmt"

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
	x := explainer{plan: p, segment: segment, doc: doc, found: map[*leaf]found{}, counted: map[*leaf]bool{}}
	sc.pulse.reset(ctx)
	sc.tree.reset(&p.words, segment, &sc.pulse)
	if err := x.look(st.root, &sc.tree); err != nil {
		return Explanation{}, fmt.Errorf("segment %s: query %s: %w", views[segment].Name, p.query, err)
	}
	if e.Matches = x.matches(st.root); e.Matches {
		x.count(st.root)
	}
	var sum base.Score
	walkLeaves(st.root, false, func(l *leaf, excluded bool) {
		e.Parts = append(e.Parts, x.part(l, excluded))
		if x.counted[l] {
			sum += x.found[l].score
		}
	})
	e.Score = sum.Float64()
	return e, nil
}

type explainer struct {
	plan    *Plan
	segment int
	doc     base.DocID
	found   map[*leaf]found // leaves that match the document
	counted map[*leaf]bool  // leaves that contribute to its score
}

type found struct {
	freq  uint32
	score base.Score
}

func (x *explainer) look(n node, b *treeBuilder) (err error) {
	walkLeaves(n, false, func(l *leaf, _ bool) {
		if err != nil {
			return
		}
		var it iterator
		if it, err = b.build(l); err != nil || it == nil || it.NextGEQ(x.doc) != x.doc {
			return
		}
		f := found{score: it.Score()}
		switch it := it.(type) {
		case *termIterator:
			f.freq = it.cursor.Freq()
		case *phraseIterator:
			f.freq = uint32(len(it.starts))
		}
		x.found[l] = f
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
	case *leaf:
		_, ok := x.found[n]
		return ok
	case *group:
		for _, child := range n.excluded {
			if x.matches(child) {
				return false
			}
		}
		for _, child := range n.required {
			if !x.matches(child) {
				return false
			}
		}
		if len(n.required) > 0 {
			return true
		}
		for _, child := range n.optional {
			if x.matches(child) {
				return true
			}
		}
	}
	return false
}

// count marks the contributing leaves of n, which matches.
func (x *explainer) count(n node) {
	switch n := n.(type) {
	case *leaf:
		x.counted[n] = true
	case *group:
		for _, child := range n.required {
			x.count(child)
		}
		for _, child := range n.optional {
			if x.matches(child) {
				x.count(child)
			}
		}
	}
}

func (x *explainer) part(l *leaf, excluded bool) Part {
	p := x.plan
	s := p.planner
	stats := &s.snapshot.Fields[l.field]
	part := Part{
		Field: s.fields[l.field], Excluded: excluded, Freq: x.found[l].freq, AvgLength: stats.AvgLen(),
		NumDocs: stats.NumDocs, IDF: p.words.idf(l), Boost: l.boost, K1: s.bm25.K1, B: s.bm25.B,
	}
	if o := &s.snapshot.Options; o.Weighted() {
		part.IDF, part.K1, part.B, part.Scale = 0, 0, 0, o.WeightScale
	}
	for _, t := range l.terms {
		part.Terms = append(part.Terms, string(p.words.terms[t].bytes))
		part.DocFreq = append(part.DocFreq, p.words.docFreqs[t])
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
