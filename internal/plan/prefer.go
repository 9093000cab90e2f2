package plan

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Required and optional words, as in "+a b c", are a disjunction of all words over the documents with the required ones. So
// the traversals answer them, with these documents as a mask. On 300,000 passages of Wikipedia, the top 10 of such queries
// of search-benchmark-game took 93 µs as trees and take 35 µs so (docs/benchmarks/game.md).

// preferring returns the root if it is required and optional words.
func (st *Stage) preferring() *group {
	g, ok := st.root.(*group)
	if !ok || st.flat || g.atLeast > 1 || len(g.required) == 0 || len(g.optional) == 0 || len(g.excluded) > 0 ||
		!termsOnly(g.required) || !termsOnly(g.optional) {
		return nil
	}
	return g
}

func (r *stageRun) prefer(segment int, g *group) (name string, w Work, err error) {
	ws := &r.plan.words
	required := g.required[0]
	if len(g.required) > 1 {
		m := &r.sc.matcher
		m.root = group{required: g.required}
		required = &m.root
	}
	found, err := findAll(r, segment, required, &w)
	if err != nil {
		return treeTraversal, w, err
	}
	r.setMatches(segment, found.count)
	if found.count == 0 {
		return treeTraversal, w, nil
	}
	legs := r.sc.legs[:0]
	for _, nodes := range [...][]node{g.required, g.optional} {
		for _, n := range nodes {
			l := n.(*leaf)
			var leg traverse.Leg
			if err := ws.leg(&leg, segment, l.terms[0], ws.scorer(l)); err != nil {
				return treeTraversal, w, err
			}
			legs = append(legs, leg)
		}
	}
	r.sc.legs = legs
	t := traverse.LookUp(traverse.Or)
	if found.words != nil {
		t = traverse.Choose(traverse.Or, legs, r.sc.queue.K(), true)
	}
	numDocs := r.view(segment).NumDocs()
	if r.mayShare() && numDocs > r.crew.least && traverse.Splits(t, legs) && r.treeCost(segment, g) >= r.crew.times.large {
		decoded := w.BlocksDecoded
		err = r.inRanges(numDocs, &w, func(from, to base.DocID) error {
			return r.preferRange(segment, legs, t, &found, from, to, &w)
		}, func(x *worker, from, to base.DocID) error {
			return x.run.preferRange(segment, legs, t, &found, from, to, &x.work)
		})
		skipBlocks(legs, decoded, &w)
	} else {
		err = r.preferRange(segment, legs, t, &found, 0, 0, &w)
	}
	clear(legs)
	return t.Name(), w, err
}

// preferRange is traverseRange with legs of its own, which the required words mask.
func (r *stageRun) preferRange(segment int, legs []traverse.Leg, t traverse.Traversal, d *documents, from, to base.DocID, w *Work) error {
	view := r.view(segment)
	r.sc.query = traverse.Query{
		Legs: legs, NumDocs: view.NumDocs(), Live: d.words, NumLive: d.count, Docs: d.docs, Base: view.Base, From: from, To: to,
	}
	memory := takeTraversalMemory()
	err := t.Run(r.stop, memory, &r.sc.query, &r.sc.queue)
	putTraversalMemory(memory, w)
	return err
}

// live returns the documents that are not deleted.
func (r *stageRun) live(d documents) documents {
	m := &r.sc.matcher
	live := m.view().Live
	if live == nil {
		return d
	}
	return m.both(d, documents{words: live.Words(), count: live.Count()})
}
