package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/traverse"
)

// stageRun finds hits or counts matches of a stage on the CPU.
type stageRun struct {
	plan *Plan
	st   *Stage
	sc   *Scratch
	stop traverse.Interrupt
	crew *Crew // nil: no helpers

	// The present segment, the most workers there, and in all; 0: it is not shared.
	segment, workers, mostWorkers int
	mask                          mask // in the present segment, of a flat stage
	// floor is a score below which no hit is wanted.
	floor base.Score

	counts  bool    // Plan.counts, in a search
	matched []int64 // by segment, if counts; -1: not known
	phrase  phraseScores
}

// countWith lets a search count the matches of segments as it finds them.
func (r *stageRun) countWith(matched []int64) {
	r.counts, r.matched = r.plan.counts, matched
}

// stage returns the scratch's run, which belongs to the last stage that asked for it.
func (sc *Scratch) stage(p *Plan, st *Stage, stop traverse.Interrupt) *stageRun {
	sc.run = stageRun{plan: p, st: st, sc: sc, stop: stop}
	return &sc.run
}

func (r *stageRun) view(segment int) *index.View { return &r.plan.planner.snapshot.Segments[segment] }

// searchAll goes in DocID order, so a later document needs a higher score than the last hit.
func (r *stageRun) searchAll(w *Work, trace *Trace) error {
	if small, predicted := r.smallSegments(); len(small) > 1 {
		return r.searchTogether(small, predicted, w, trace)
	}
	for i := range r.plan.planner.snapshot.Segments {
		if err := r.search(i, w, trace); err != nil {
			return err
		}
	}
	return nil
}

func (r *stageRun) search(segment int, w *Work, trace *Trace) error {
	p := r.plan
	if err := r.stop.Err(); err != nil {
		return err
	}
	var began time.Time
	if trace != nil {
		began = time.Now()
	}
	r.sc.enter(&p.planner.snapshot.Segments[segment])
	r.segment, r.workers = segment, 0
	name, work, err := r.searchBy(segment)
	w.Add(work) // also after an error
	if trace != nil {
		trace.Add(began, r.step(segment, name, work))
	}
	if err == nil {
		return nil
	}
	return r.failed(segment, err)
}

// failed returns an error of a segment, or why the run was stopped.
func (r *stageRun) failed(segment int, err error) error {
	if ended := r.stop.Err(); ended != nil {
		return ended
	}
	return failedSegment(r.plan, segment, err)
}

func failedSegment(p *Plan, segment int, err error) error {
	return fmt.Errorf("segment %s: query %s: %w", p.planner.snapshot.Segments[segment].Name, p.query, err)
}

// isHopeless reports whether bounds prove that no document of the segment enters the queue, in less time
// than a traversal takes to begin. Small segments mostly are, after the others.
func (r *stageRun) isHopeless(segment int) bool {
	if !r.st.flat {
		return false
	}
	r.sc.enter(&r.plan.planner.snapshot.Segments[segment])
	var most base.Score
	legs := r.st.Legs(segment)
	for i := range legs {
		if r.st.kind == traverse.And && legs[i].DocFreq() == 0 {
			return true
		}
		most += legs[i].MaxScore
	}
	return most < max(r.sc.queue.Need(), r.floor)
}

// searchBy also returns the name of the traversal.
func (r *stageRun) searchBy(segment int) (name string, w Work, err error) {
	st, ws := r.st, &r.plan.words
	if g := st.preferring(); g != nil {
		return r.prefer(segment, g)
	}
	if r.matchesFirst(segment) {
		name, found, ranked, err := r.rankMatches(segment)
		w.Add(found)
		if ranked || err != nil {
			return name, w, err
		}
	}
	if !st.flat || st.isMasked() && !st.maskPays(ws, segment, r.sc.begin(ws, segment, r.stop)) {
		err = r.tree(segment, &w)
		return treeTraversal, w, err
	}
	mask := &r.mask
	*mask = maskOf(r.view(segment))
	traversal := st.traversals[segment]
	if st.isMasked() {
		m := &r.sc.matcher
		*mask, err = m.mask(st)
		w.Add(m.work)
		if err != nil {
			return treeTraversal, w, err
		}
		if st.looksUp(mask) {
			traversal = traverse.LookUp(st.kind)
		} else if !mask.all && mask.words == nil {
			words := m.hold()
			mask.addTo(words)
			mask.words = words
		}
	}
	if mask.count > 0 {
		err = r.flat(segment, traversal, mask, &w)
	}
	return traversal.Name(), w, err
}

func (r *stageRun) flat(segment int, t traverse.Traversal, m *mask, w *Work) error {
	sc := r.sc
	view := &r.plan.planner.snapshot.Segments[segment]
	if r.floor > 0 {
		return r.traverse(segment, t, m, r.floor, w)
	}
	guess := r.guess(segment, m)
	err := r.traverse(segment, t, m, guess, w)
	if err == nil && guess > 0 && !r.reached(guess) {
		r.plan.ResetHits(sc)
		sc.enter(view)
		err = r.traverse(segment, t, m, 0, w)
	}
	return err
}

func (r *stageRun) traverse(segment int, t traverse.Traversal, m *mask, threshold base.Score, w *Work) error {
	if r.mayShare() && r.view(segment).NumDocs() > r.crew.least && traverse.Splits(t, r.st.Legs(segment)) && r.flatCost(segment) >= r.crew.times.gate {
		return r.traverseShared(segment, t, m, threshold, w)
	}
	return r.traverseRange(segment, t, m, threshold, 0, 0, w)
}

// traverseRange runs a traversal in a range of documents; to 0: in all.
func (r *stageRun) traverseRange(segment int, t traverse.Traversal, m *mask, threshold base.Score, from, to base.DocID, w *Work) error {
	st, sc := r.st, r.sc
	view := r.view(segment)
	sc.query = traverse.Query{
		Legs: st.Legs(segment), NumDocs: view.NumDocs(), Live: m.words, NumLive: m.count, Docs: m.docs, Base: view.Base, Threshold: threshold,
		From: from, To: to,
	}
	memory := takeTraversalMemory()
	err := t.Run(r.stop, memory, &sc.query, &sc.queue)
	putTraversalMemory(memory, w)
	return err
}

// guess returns a threshold that k documents of the mask probably reach, or 0. Traversals begin with the k-th
// best score of a list, but a mask may drop these best documents. If a share p of the documents is left,
// about p*n of the n best of a list are left: n is chosen so that k are probably left. On 250,000 passages of
// Wikipedia, the top 10 of TB05 queries (OR) in a random half of the passages take 17 µs a query with it, 19
// µs without (one thread of a Zen 5).
func (r *stageRun) guess(segment int, m *mask) base.Score {
	k := r.sc.queue.K()
	if m.all || r.st.kind != traverse.Or || k == 0 || r.sc.queue.Len() > 0 {
		return 0
	}
	return likelyKth(r.st.Legs(segment), k, float64(m.count)/float64(r.view(segment).NumDocs()))
}

// likelyKth returns a score that k documents of a share of a segment probably reach by one of the lists, or 0.
func likelyKth(legs []traverse.Leg, k int, share float64) base.Score {
	return traverse.LikelyKth(legs, leg.LikelyRank(k, share, 2 /* deviations */))
}

// reached reports whether the queue, which was empty, has k hits of a score, so that no document below it
// was missed.
func (r *stageRun) reached(score base.Score) bool {
	q := &r.sc.queue
	if q.Len() < q.K() {
		return false
	}
	if len(r.plan.ties) > 0 {
		return q.Need() >= score
	}
	return q.Need() > score
}

// tree adds hits without the scores of a flat stage's filters.
func (r *stageRun) tree(segment int, w *Work) error {
	m := r.sc.begin(&r.plan.words, segment, r.stop)
	err := r.iterate(segment, r.st.root, r.st.offset, w)
	w.Add(m.work)
	return err
}

// iterate adds the hits of a node, whose scores have at least an offset, without this.
func (r *stageRun) iterate(segment int, n node, offset base.Score, w *Work) error {
	sc := r.sc
	root, err := sc.tree.build(n)
	if err != nil || root == nil {
		return err
	}
	numDocs := r.view(segment).NumDocs()
	if r.mayShare() && numDocs > r.crew.least && r.treeCost(segment, n) >= r.crew.times.large {
		err = r.iterateShared(segment, n, root, offset, w)
	} else {
		err = r.iterateRange(segment, root, offset, 0, base.DocID(numDocs))
	}
	failed := sc.tree.finish(w)
	w.BlocksSkipped = max(w.BlocksSkipped, 0) // helpers decode some blocks again
	if failed != nil {
		return failed
	}
	return err
}

// iterateRange adds the hits in a range of documents, which follows the ranges of earlier calls for the iterator.
func (r *stageRun) iterateRange(segment int, root iterator, offset base.Score, from, to base.DocID) error {
	sc := r.sc
	view := r.view(segment)
	prune, _ := root.(pruner)
	var need base.Score
	at := root.DocID()
	resumes := at != base.NoDocID && at >= from // an earlier range ended there
	for doc := from; ; doc++ {
		if n := sc.queue.Need(); n > need {
			need = n
			if root.MaxScore() < need+offset {
				break
			}
			if prune != nil {
				prune.SetNeed(need + offset)
			}
		}
		if resumes {
			doc, resumes = at, false
		} else {
			doc = root.NextGEQ(doc)
		}
		if doc >= to || sc.pulse.stopped() {
			break
		}
		if view.Live == nil || view.Live.Has(int(doc)) {
			sc.queue.Add(base.Hit{DocID: view.Base + doc, Score: root.Score() - offset})
		}
	}
	return sc.pulse.err
}

// countAll counts the live documents that match, in segments in which a search has not.
func (r *stageRun) countAll(w *Work) (n int64, err error) {
	if countsTogether(r) {
		return countTogether(r, w)
	}
	for i := range r.plan.planner.snapshot.Segments {
		matches, err := r.count(i, w)
		if err != nil {
			return 0, err
		}
		n += matches
	}
	return n, nil
}

func (r *stageRun) step(segment int, traversal string, work Work) Step {
	p, ws := r.plan, &r.plan.words
	s := Step{
		Name: StepSegment, Processor: CPUName, Segment: p.planner.snapshot.Segments[segment].Name,
		Traversal: traversal, Mode: r.st.mode, Work: work, Workers: r.workers,
	}
	s.Filters = slices.Clone(r.sc.matcher.filters)
	seen := make([]bool, len(ws.terms))
	walkLeaves(r.st.root, false, func(l *leaf, _ bool) {
		for _, t := range l.terms {
			if seen[t] {
				continue
			}
			seen[t] = true
			list := ws.list(segment, t)
			s.Lists = append(s.Lists, ListTrace{
				Field: p.planner.fields[l.field], Term: string(ws.terms[t].bytes), DocFreq: list.DocFreq, Blocks: list.NumBlocks(),
			})
		}
	})
	return s
}
