package plan

import (
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/traverse"
)

// stageRun finds hits or counts matches of a stage on the CPU.
type stageRun struct {
	plan *Plan
	st   *Stage
	sc   *Scratch
	stop traverse.Interrupt
}

// searchAll goes in DocID order, so a later document needs a higher score than the last hit.
func (r *stageRun) searchAll(w *Work, trace *Trace) error {
	for i := range r.plan.planner.snapshot.Segments {
		if err := r.search(i, w, trace); err != nil {
			return err
		}
	}
	return nil
}

func (r *stageRun) search(segment int, w *Work, trace *Trace) error {
	p, st := r.plan, r.st
	if err := r.stop.Err(); err != nil {
		return err
	}
	var began time.Time
	if trace != nil {
		began = time.Now()
	}
	r.sc.enter(&p.planner.snapshot.Segments[segment])
	var work Work
	var err error
	name := treeTraversal
	if st.flat && (len(st.excluded) == 0 || st.maskPays(&p.words, segment)) {
		name = st.traversals[segment].Name()
		work, err = r.flat(segment)
	} else {
		work, err = r.tree(segment)
	}
	w.Add(work) // also after an error
	if trace != nil {
		trace.Add(began, r.step(segment, name, work))
	}
	if err == nil {
		return nil
	}
	if ended := r.stop.Err(); ended != nil {
		return ended
	}
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
	return most < r.sc.queue.Need()
}

func (r *stageRun) flat(segment int) (w Work, err error) {
	st, sc := r.st, r.sc
	view := &r.plan.planner.snapshot.Segments[segment]
	live, err := sc.mask.without(&r.plan.words, st, segment, &w)
	if err != nil {
		return w, err
	}
	sc.query = traverse.Query{Legs: st.Legs(segment), NumDocs: view.NumDocs(), Live: live, Base: view.Base}
	memory := takeTraversalMemory()
	err = st.traversals[segment].Run(r.stop, memory, &sc.query, &sc.queue)
	putTraversalMemory(memory, &w)
	return w, err
}

// iterator returns nil if the segment has no match.
func (r *stageRun) iterator(segment int) (iterator, error) {
	r.sc.pulse.reset(r.stop)
	r.sc.tree.reset(&r.plan.words, segment, &r.sc.pulse)
	return r.sc.tree.build(r.st.root)
}

func (r *stageRun) tree(segment int) (w Work, err error) {
	sc := r.sc
	view := &r.plan.planner.snapshot.Segments[segment]
	root, err := r.iterator(segment)
	if err != nil || root == nil {
		return w, err
	}
	prune, _ := root.(pruner)
	var need base.Score
	for doc := base.DocID(0); ; doc++ {
		if n := sc.queue.Need(); n > need {
			need = n
			if root.MaxScore() < need {
				break
			}
			if prune != nil {
				prune.SetNeed(need)
			}
		}
		doc = root.NextGEQ(doc)
		if doc == base.NoDocID || sc.pulse.stopped() {
			break
		}
		if view.Live == nil || view.Live.Has(int(doc)) {
			sc.queue.Add(base.Hit{DocID: view.Base + doc, Score: root.Score()})
		}
	}
	if err = sc.tree.finish(&w); err == nil {
		err = sc.pulse.err
	}
	return w, err
}

func (r *stageRun) countAll(w *Work) (n int64, err error) {
	for i := range r.plan.planner.snapshot.Segments {
		matches, err := r.count(i, w)
		if err != nil {
			return 0, err
		}
		n += matches
	}
	return n, nil
}

func (r *stageRun) count(segment int, w *Work) (int64, error) {
	if err := r.stop.Err(); err != nil {
		return 0, err
	}
	if r.st.flat {
		return r.sc.counter.flat(r, segment, w)
	}
	return r.countTree(segment, w)
}

func (r *stageRun) countTree(segment int, w *Work) (n int64, err error) {
	sc := r.sc
	view := &r.plan.planner.snapshot.Segments[segment]
	root, err := r.iterator(segment)
	if err != nil || root == nil {
		return 0, err
	}
	for doc := root.NextGEQ(0); doc != base.NoDocID && !sc.pulse.stopped(); doc = root.NextGEQ(doc + 1) {
		if view.Live == nil || view.Live.Has(int(doc)) {
			n++
		}
	}
	if err = sc.tree.finish(w); err == nil {
		err = sc.pulse.err
	}
	return n, err
}

func (r *stageRun) step(segment int, traversal string, work Work) Step {
	p, ws := r.plan, &r.plan.words
	s := Step{
		Name: StepSegment, Processor: CPUName, Segment: p.planner.snapshot.Segments[segment].Name,
		Traversal: traversal, Mode: r.st.mode, Work: work,
	}
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
