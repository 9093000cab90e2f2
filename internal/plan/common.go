package plan

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	kernels "github.com/griffin-search/griffin/internal/simd/column"
	"github.com/griffin-search/griffin/internal/traverse"
)

// This file has stages whose candidates another processor finds: with a required phrase, the documents with all words that
// every match has. The CPU reads the positions in them, and ranks the matches.

// Reasons why a stage with a phrase has no common words, in addition to the reasons of Words.
const (
	commonNone    = "it has a phrase that is not required or in a group, so that no intersection has its candidates"
	commonOne     = "it has a phrase, but only one word that every match has: there is nothing to intersect"
	commonWeights = "it has a phrase in a field of learned weights"
)

// findCommon sets the common words of a stage with a phrase, or whyNoWords.
func (st *Stage) findCommon(p *Plan) {
	terms := commonTerms(st.root)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	switch {
	case len(terms) == 0:
		st.whyNoWords = commonNone
	case len(terms) == 1:
		st.whyNoWords = commonOne
	case slices.ContainsFunc(terms, func(t int) bool { return p.planner.snapshot.Fields[p.words.terms[t].field].WeightScale != 0 }):
		st.whyNoWords = commonWeights
	default:
		base.SortFew(terms, func(a, b int) int { return cmp.Compare(p.words.length(a), p.words.length(b)) })
		st.common = terms
	}
}

// commonTerms returns the terms of the required words of a tree, with a phrase among them, else nil.
func commonTerms(root node) (terms []int) {
	required := []node{root}
	if g, ok := root.(*group); ok {
		if g.atLeast > 1 {
			return nil
		}
		required = g.required
	}
	if !positional(required) {
		return nil
	}
	for _, n := range required {
		if l, ok := n.(*leaf); ok {
			terms = append(terms, l.fixed()...)
		}
	}
	return terms
}

// fixed returns the terms that every document of a leaf has.
func (l *leaf) fixed() []int {
	if l.expand > 0 {
		return l.terms[:l.expand]
	}
	return l.terms
}

// length returns the length of a term's lists over all segments, with deleted documents.
func (ws *words) length(term int) (n uint64) {
	for segment := range ws.planner.snapshot.Segments {
		n += uint64(ws.list(segment, term).DocFreq)
	}
	return n
}

// NumCommon returns the number of words that every match of a stage has, at least two, if the stage requires a phrase; else
// 0. It is valid after SortTerms.
func (st *Stage) NumCommon() int { return len(st.common) }

// CommonLength returns the length of the lists of common word i over all segments, with deleted documents. It rises with i.
func CommonLength(p *Plan, stage, i int) uint64 { return p.words.length(p.stages[stage].common[i]) }

// CommonLeg sets leg to the list of common word i in a segment, with a weight of 1 whatever the query's: scores of candidates
// mean nothing, and remain small. The error wraps base.ErrCorrupt.
func CommonLeg(p *Plan, leg *traverse.Leg, stage, segment, i int) error {
	term := p.stages[stage].common[i]
	stats := &p.planner.snapshot.Fields[p.words.terms[term].field]
	return p.words.leg(leg, segment, term, p.planner.bm25.NewTerm(1, 1, stats.AvgLen()))
}

// Common are candidates of a stage with common words.
type Common struct {
	// Docs returns the live documents of a segment, rising, that have all common words. They stay unchanged during the run.
	Docs func(segment int) []uint32
	// Whole are segments, rising, that are searched without candidates.
	Whole []int
}

// RunCommon is RunStage of a stage with common words, of which another processor has found the candidates.
func RunCommon(ctx context.Context, p *Plan, sc *Scratch, stage int, from Common, dst []base.Hit, a *Answer, trace *Trace) (err error) {
	st := &p.stages[stage]
	p.ResetHits(sc)
	r := sc.stage(p, st, ctx)
	r.crew = p.planner.crew
	r.crew.enter()
	defer r.crew.leave()
	r.countWith(sc.unknownMatches(p))
	for segment := range p.planner.snapshot.Segments {
		if len(from.Whole) > 0 && from.Whole[0] == segment {
			from.Whole = from.Whole[1:]
			if p.k > 0 {
				if err := r.search(segment, &a.Work, trace); err != nil {
					return err
				}
			}
			continue
		}
		if err := searchCommon(r, segment, from.Docs(segment), &a.Work, trace); err != nil {
			return err
		}
	}
	a.Hits = sc.AppendHits(dst[:0])
	st.addOffset(a.Hits)
	if p.counts && !p.FallsBack(stage, len(a.Hits)) {
		a.Matches, err = r.countAll(&a.Work)
	}
	a.Workers = max(a.Workers, r.mostWorkers)
	return err
}

// searchCommon is search among candidates.
func searchCommon(r *stageRun, segment int, docs []uint32, w *Work, trace *Trace) error {
	if err := r.stop.Err(); err != nil {
		return err
	}
	var began time.Time
	if trace != nil {
		began = time.Now()
	}
	r.sc.enter(r.view(segment))
	r.segment, r.workers = segment, 0
	r.setMatches(segment, 0)
	var work Work
	var err error
	if len(docs) > 0 {
		err = rankCommon(r, segment, docs, &work)
	}
	w.Add(work) // also after an error
	if trace != nil {
		s := r.step(segment, treeTraversal, work)
		s.Name, s.Candidates = StepPositions, int64(len(docs))
		trace.Add(began, s)
	}
	if err == nil {
		return nil
	}
	return r.failed(segment, err)
}

// rankCommon finds the matches among candidates of a segment, counts them and adds the best to the queue.
func rankCommon(r *stageRun, segment int, docs []uint32, w *Work) error {
	m := r.sc.begin(&r.plan.words, segment, r.stop)
	among := documents{docs: docs, count: len(docs)}
	l, isLeaf := r.st.root.(*leaf)
	if isLeaf && findable(l) && r.plan.k > 0 {
		return r.rankPhrase(segment, l, &among, w)
	}
	if !isFew(among.count, m.words.numDocs(segment)) {
		among.docs, among.words = nil, m.hold()
		kernels.Mark(among.words, docs)
	}
	if isLeaf && !r.counts { // the iterator reads the positions of possible hits only
		return r.visit(segment, among, w)
	}
	var rest []node
	var excluded []node
	if isLeaf {
		rest = []node{l}
	} else {
		g := r.st.root.(*group)
		rest, excluded = m.uncommon(g.required), g.excluded
		m.phrases.scored = g.required
	}
	found, err := narrower{m}.narrowAll(among, rest, excluded)
	w.Add(m.work)
	if err != nil {
		return err
	}
	r.setMatches(segment, found.count)
	if found.count == 0 || r.plan.k == 0 {
		return nil
	}
	return r.visit(segment, found, w)
}

// uncommon returns the nodes of a conjunction that candidates need not match, in the order of common.
func (m *matcher) uncommon(required []node) (rest []node) {
	for _, n := range required {
		if l, ok := n.(*leaf); !ok || l.isPhrase() {
			rest = append(rest, n)
		}
	}
	x := narrower{m}
	slices.SortStableFunc(rest, func(a, b node) int {
		if late := hasPhrase(a); late != hasPhrase(b) {
			if late {
				return 1
			}
			return -1
		}
		return cmp.Compare(x.estimate(a), x.estimate(b))
	})
	return rest
}

// docsBetween returns the documents of a rising list in a range.
func docsBetween(docs []uint32, from, to base.DocID) []uint32 {
	lo, _ := slices.BinarySearch(docs, uint32(from))
	hi, _ := slices.BinarySearch(docs, uint32(to))
	return docs[lo:hi]
}
