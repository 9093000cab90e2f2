package plan

import (
	"time"

	"github.com/griffin-search/griffin/internal/traverse"
)

// Queries of a few words take microseconds, of which reading the lists is a part. Their stages run without
// traces, helpers and masks: runShort has only the steps of a stageRun that affect such stages.

// isShort reports whether a flat stage of numPostings has only short lists in all segments, or is a conjunction in one
// segment, and takes too little time for helpers of a crew to pay.
func (st *Stage) isShort(crew *Crew, numPostings uint64) bool {
	if st.named != nil || st.isMasked() {
		return false
	}
	if st.kind == traverse.And {
		return len(st.traversals) == 1 && (!crew.shares() || andCost(st.legs) < crew.times.gate)
	}
	if crew.shares() && time.Duration(numPostings)*orTime >= crew.times.gate {
		return false
	}
	for i, t := range st.traversals {
		if !traverse.IsShort(t) && anyPostings(st.Legs(i)) {
			return false
		}
	}
	return true
}

func anyPostings(legs []traverse.Leg) bool {
	for i := range legs {
		if legs[i].List.DocFreq > 0 {
			return true
		}
	}
	return false
}

// runShort is searchAll for a short stage.
func runShort(p *Plan, stop traverse.Interrupt, sc *Scratch, st *Stage, w *Work) error {
	memory := takeTraversalMemory()
	segments := p.planner.snapshot.Segments
	for i := range segments {
		if err := stop.Err(); err != nil {
			putTraversalMemory(memory, w)
			return err
		}
		view, legs := &segments[i], st.Legs(i)
		if !anyPostings(legs) || view.Live != nil && view.Live.Count() == 0 {
			continue
		}
		sc.enter(view)
		sc.query = traverse.Query{Legs: legs, NumDocs: view.NumDocs(), Base: view.Base}
		if view.Live != nil {
			sc.query.Live, sc.query.NumLive = view.Live.Words(), view.Live.Count()
		}
		if err := st.traversals[i].Run(stop, memory, &sc.query, &sc.queue); err != nil {
			putTraversalMemory(memory, w)
			if ended := stop.Err(); ended != nil {
				return ended
			}
			return failedSegment(p, i, err)
		}
	}
	putTraversalMemory(memory, w)
	return nil
}
