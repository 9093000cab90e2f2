package plan

import (
	"context"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Hits and matches in one pass. Where every match is visited anyway, because matches are counted or because
// positions decide, a segment's matches are found first (narrower), and counted; then they are ranked. Score bounds
// decide only whether a match is scored. There are three ways:
//
//	phrase  a phrase alone is scored as it is found
//	look-up few matches of words are looked up in their lists
//	tree    few other matches are visited by iterators, which may skip what scores too low
//
// If positions decide, ranges of documents are searched one after another, by several workers if that pays, so that the
// hits of earlier ranges bound the frequencies of phrases in later ones.
// Many matches of words are counted in a pass of their own: traversals with block bounds skip most of them.

// matchesFirst reports whether a segment's matches are found before they are ranked.
func (r *stageRun) matchesFirst(segment int) bool {
	st := r.st
	if st.named != nil {
		return false
	}
	if l, ok := st.root.(*leaf); ok {
		return findable(l)
	}
	g, ok := st.root.(*group)
	if !ok || g.atLeast > 1 || len(g.required) == 0 {
		return false
	}
	if r.counts {
		return len(g.required) > 1 || len(g.excluded) > 0 || hasPhrase(g.required[0])
	}
	if st.flat {
		return len(st.excluded) > 0 && isFew(r.sc.begin(&r.plan.words, segment, r.stop).docFreq(g), r.view(segment).NumDocs())
	}
	if !positional(g.required) {
		return false
	}
	// If there are many matches and optional parts, a search by ranges is faster: bounds skip most matches, and several
	// processors can share it.
	return len(g.optional) == 0 || isFew(r.sc.begin(&r.plan.words, segment, r.stop).docFreq(g), r.view(segment).NumDocs())
}

// positional reports whether positions decide about documents of a conjunction.
func positional(required []node) bool {
	for _, n := range required {
		if l, ok := n.(*leaf); ok && l.isPhrase() {
			return true
		}
	}
	return false
}

// rankMatches finds the matches of a segment, counts them and adds the best to the queue. ranked: it did the latter; else
// they are many.
func (r *stageRun) rankMatches(segment int) (name string, w Work, ranked bool, err error) {
	if l, ok := r.st.root.(*leaf); ok {
		r.sc.begin(&r.plan.words, segment, r.stop)
		return treeTraversal, w, true, r.rankPhrase(segment, l, nil, &w)
	}
	root := r.st.root.(*group)
	if positional(root.required) {
		return treeTraversal, w, true, rankPositional(r, segment, root, &w)
	}
	found, err := findAll(r, segment, counted(root), &w)
	if err != nil {
		return treeTraversal, w, true, err
	}
	r.setMatches(segment, found.count)
	masks := r.st.flat && r.st.kind == traverse.And && r.st.isMasked()
	switch {
	case found.words != nil && !masks:
		return "", w, false, nil
	case !r.st.flat:
		if found.count > 0 {
			err = r.visit(segment, found, &w)
		}
		return treeTraversal, w, true, err
	}
	t := r.st.traversals[segment]
	if found.words == nil {
		t = traverse.LookUp(r.st.kind)
	}
	if found.count > 0 {
		r.mask = mask{documents: found}
		err = r.flat(segment, t, &r.mask, &w)
	}
	return t.Name(), w, true, err
}

// setMatches keeps the number of a segment's matches for countAll.
func (r *stageRun) setMatches(segment, n int) {
	if r.counts {
		atomic.StoreInt64(&r.matched[segment], int64(n))
	}
}

// rankPhrase adds the best documents of a phrase, among a list or with nil of all, to the queue and counts all.
func (r *stageRun) rankPhrase(segment int, l *leaf, among *documents, w *Work) error {
	r.setMatches(segment, 0)
	r.phrase = phraseScores{leaf: l, scorer: r.plan.words.scorer(l), among: among}
	var err error
	r.phrase.most, err = r.plan.words.phraseMax(&r.sc.tree.leg, segment, l, r.phrase.scorer)
	if err != nil || r.phrase.most == 0 {
		return err
	}
	numDocs := r.view(segment).NumDocs()
	if !r.mayShare() || numDocs <= r.crew.least || r.treeCost(segment, l) < r.crew.times.large {
		return r.phraseRange(segment, &r.phrase, 0, base.DocID(numDocs), w)
	}
	var work Work
	err = r.inRanges(numDocs, &work, func(from, to base.DocID) error {
		r.sc.begin(&r.plan.words, segment, r.stop)
		return r.phraseRange(segment, &r.phrase, from, to, &work)
	}, func(x *worker, from, to base.DocID) error {
		x.begin(&r.plan.words, segment, x.run.stop)
		return x.run.phraseRange(segment, &r.phrase, from, to, &x.work)
	})
	blocks := 0 // each range counts those of all
	for _, t := range (narrower{&r.sc.matcher}).fixedTerms(l) {
		blocks += r.plan.words.list(segment, t).NumBlocks()
	}
	work.BlocksSkipped = max(int64(blocks)-work.BlocksDecoded, 0)
	w.Add(work)
	return err
}

// phraseScores score the documents of a phrase.
type phraseScores struct {
	leaf   *leaf
	scorer score.Term
	most   base.Score
	among  *documents // a list; nil: all
}

// phraseRange is rankPhrase in a range of documents. It adds to the matches.
func (r *stageRun) phraseRange(segment int, s *phraseScores, from, to base.DocID, w *Work) error {
	view, queue := r.view(segment), &r.sc.queue
	bound := phraseBound{scorer: s.scorer, lengths: view.Lengths(s.leaf.field)}
	if !r.counts && s.most < queue.Need() {
		return nil
	}
	matches, scored := 0, 0
	where := phraseSearch{leaf: s.leaf, from: from, to: to}
	if !r.counts {
		where.bound = &bound
		bound.need = queue.Need()
	}
	if s.among != nil {
		docs := docsBetween(s.among.docs, from, to)
		where.docs = &documents{docs: docs, count: len(docs)}
	}
	m := &r.sc.matcher
	err := narrower{m}.findPhrase(&where, func(found *phraseFound) bool {
		for i, doc := range found.docs[:found.n] {
			if view.Live != nil && !view.Live.Has(int(doc)) {
				continue
			}
			matches++
			if s.most < bound.need {
				continue
			}
			scored++
			sum := s.scorer.Score(found.freqs[i], bound.lengths[doc])
			invariant.Check(sum <= s.most, "phrase score %d of document %d above %d", sum, doc, s.most)
			queue.Add(base.Hit{DocID: view.Base + base.DocID(doc), Score: sum})
		}
		bound.need = queue.Need()
		return r.counts || s.most >= bound.need
	})
	if r.counts {
		atomic.AddInt64(&r.matched[segment], int64(matches))
	}
	w.Add(m.work)
	m.work = Work{}
	w.PostingsScored += int64(scored)
	return err
}

// visit adds the best of some matches of a tree.
func (r *stageRun) visit(segment int, d documents, w *Work) error {
	sc, view := r.sc, r.view(segment)
	m, b := &sc.matcher, &sc.tree
	sc.beginTree(m.words, segment, r.stop)
	b.only, b.narrowed = d, true
	root := r.st.root
	if g, ok := root.(*group); ok {
		m.root = *g
		m.root.excluded = nil
		root = &m.root
	}
	it, err := b.build(root)
	if err != nil || it == nil {
		return err
	}
	prune, _ := it.(pruner)
	need, offset := base.Score(0), r.st.offset
	docs := sc.walk.begin(&d)
	for doc := docs.NextGEQ(m.in.from); doc != base.NoDocID && !sc.pulse.stopped(); {
		if n := sc.queue.Need(); n > need {
			need = n
			if it.MaxScore() < need+offset {
				break
			}
			if prune != nil {
				prune.SetNeed(need + offset)
			}
		}
		at := it.NextGEQ(doc)
		if at == doc {
			sc.queue.Add(base.Hit{DocID: view.Base + doc, Score: it.Score() - offset})
			at++
		}
		if at == base.NoDocID {
			break
		}
		doc = docs.NextGEQ(at)
	}
	if err := b.finish(w); err != nil {
		return err
	}
	return sc.pulse.err
}

// walk is memory for an iterator of documents.
type walk struct {
	docs docsIterator
	bits bitsIterator
}

func (w *walk) begin(d *documents) iterator {
	if d.words == nil {
		w.docs = docsIterator{docs: d.docs, doc: base.NoDocID, count: d.count}
		return &w.docs
	}
	w.bits = bitsIterator{words: d.words, doc: base.NoDocID, count: d.count}
	return &w.bits
}

// RankMatches is RunCPU for hits among documents, bits by segment, that all match the query and are known already, as of
// Matches. If the query or the number of its matches
// makes RunCPU the better choice, it does nothing and reports false. The error is RunCPU's.
func RankMatches(ctx context.Context, p *Plan, sc *Scratch, among [][]uint64, dst []base.Hit) (a Answer, ok bool, err error) {
	if p.mode == ModeSaat || len(p.stages) != 1 || p.k == 0 || p.counts || p.stages[0].named != nil || p.stages[0].root == nil {
		return a, false, nil
	}
	most := 0
	for i, words := range among {
		n := int(ones(words))
		if !isFew(n, p.words.numDocs(i)) {
			return a, false, nil
		}
		most = max(most, n)
	}
	st := &p.stages[0]
	p.ResetHits(sc)
	r := sc.stage(p, st, ctx)
	r.crew = p.planner.crew
	r.crew.enter()
	defer r.crew.leave()
	for i, words := range among {
		if err := rankAmong(r, i, words, most, &a.Work); err != nil {
			if ended := ctx.Err(); ended != nil {
				err = ended
			}
			return Answer{}, true, err
		}
	}
	a.By, a.Mode, a.Traversal = sched.CPU, st.mode, treeTraversal
	if st.flat {
		a.Traversal = traverse.LookUp(st.kind).Name()
	}
	a.Hits = sc.AppendHits(dst[:0])
	st.addOffset(a.Hits)
	return a, true, nil
}

// rankAmong adds the best of at most some documents, bits, which match, to the queue.
func rankAmong(r *stageRun, segment int, words []uint64, most int, w *Work) (err error) {
	r.sc.enter(r.view(segment))
	m := r.sc.begin(&r.plan.words, segment, r.stop)
	r.segment = segment
	found := documents{docs: appendBits(m.docList(most), words, 0)}
	found.count = len(found.docs)
	switch {
	case found.count == 0:
	case r.st.flat:
		r.mask = mask{documents: found}
		err = r.traverseRange(segment, traverse.LookUp(r.st.kind), &r.mask, 0, 0, 0, w)
	default:
		err = r.visit(segment, found, w)
		w.Add(m.work)
	}
	if err != nil {
		return failedSegment(r.plan, segment, err)
	}
	return nil
}
