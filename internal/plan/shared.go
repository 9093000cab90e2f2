package plan

import (
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Predicted times of one thread of a Zen 5, per posting or document.
const (
	orTime   = 4 * time.Nanosecond // a posting of a list that MaxScore reads
	andTime  = 4 * time.Nanosecond // looking a posting of the shortest list up in another
	treeTime = 4 * time.Nanosecond // a posting of a tree, or a cost of words.maskCost

	findTime = time.Nanosecond // a cost of words.findCost
)

// essentialLegs is the most legs for which flatCost asks traverse.Essential.
const essentialLegs = 64

// mayShare reports whether the query may get helpers.
func (r *stageRun) mayShare() bool { return r.crew.shares() && r.sc.queue.K() <= maxSharedHits }

// flatCost predicts the time of a traversal, mostly too high, or one below what pays.
func (r *stageRun) flatCost(segment int) time.Duration {
	legs := r.st.Legs(segment)
	if r.st.kind == traverse.Or {
		sum := 0
		for i := range legs {
			sum += int(legs[i].DocFreq())
		}
		all := time.Duration(sum) * orTime
		if all < r.crew.times.gate || len(legs) > essentialLegs || traverse.ScoresAll(r.st.traversals[segment]) {
			return all
		}
		return time.Duration(traverse.Essential(legs, r.plan.k, r.view(segment).Live.Words())) * orTime
	}
	return andCost(legs)
}

// andCost is flatCost of a conjunction.
func andCost(legs []traverse.Leg) time.Duration {
	least := legs[0].DocFreq()
	for i := range legs {
		least = min(least, legs[i].DocFreq())
	}
	return time.Duration(int(least)*len(legs)) * andTime
}

func (r *stageRun) treeCost(segment int, n node) time.Duration {
	return time.Duration(r.plan.words.maskCost(segment, n)) * treeTime
}

// traverseShared is traverse with helpers.
func (r *stageRun) traverseShared(segment int, t traverse.Traversal, m *mask, threshold base.Score, w *Work) error {
	decoded := w.BlocksDecoded
	err := r.inRanges(r.view(segment).NumDocs(), w, func(from, to base.DocID) error {
		return r.traverseRange(segment, t, m, threshold, from, to, w)
	}, func(x *worker, from, to base.DocID) error {
		return x.run.traverseRange(segment, t, m, threshold, from, to, &x.work)
	})
	skipBlocks(r.st.Legs(segment), decoded, w)
	return err
}

// skipBlocks adds the blocks of legs that no range has decoded. Before the ranges, decoded blocks were counted in w.
func skipBlocks(legs []traverse.Leg, decoded int64, w *Work) {
	blocks := int64(0)
	for i := range legs {
		blocks += int64(legs[i].List.NumBlocks())
	}
	w.BlocksSkipped += max(blocks-(w.BlocksDecoded-decoded), 0)
}

// iterateShared is iterateRange for all documents with helpers, which have iterators of their own.
func (r *stageRun) iterateShared(segment int, n node, root iterator, offset base.Score, w *Work) error {
	var helpers Work
	err := r.inRanges(r.view(segment).NumDocs(), &helpers, func(from, to base.DocID) error {
		return r.iterateRange(segment, root, offset, from, to)
	}, func(x *worker, from, to base.DocID) error {
		if !x.built {
			x.begin(&r.plan.words, segment, x.run.stop)
			x.built = true
			var err error
			if x.root, err = x.tree.build(n); err != nil {
				return err
			}
		}
		if x.root == nil {
			return nil
		}
		return x.run.iterateRange(segment, x.root, offset, from, to)
	})
	// The iterators of root count all blocks of the lists.
	helpers.BlocksSkipped = -helpers.BlocksDecoded
	w.Add(helpers)
	return err
}

// smallSegments returns the segments that are too small for ranges if helpers pay for them together, nil if not, and
// their predicted time.
func (r *stageRun) smallSegments() (small []int, predicted time.Duration) {
	segments := r.plan.planner.snapshot.Segments
	if len(segments) < 3 || !r.mayShare() {
		return nil, 0
	}
	for i := range segments {
		switch {
		case !r.isSmall(i):
		case r.st.flat:
			predicted += r.flatCost(i)
		default:
			predicted += r.treeCost(i, r.st.root)
		}
	}
	if predicted < r.crew.times.large {
		return nil, 0
	}
	for i := range segments {
		if r.isSmall(i) {
			small = append(small, i)
		}
	}
	return small, predicted
}

func (r *stageRun) isSmall(segment int) bool { return r.view(segment).NumDocs() <= r.crew.least }

// searchTogether searches the large segments, each in ranges, then the small ones as one task each.
func (r *stageRun) searchTogether(small []int, predicted time.Duration, w *Work, trace *Trace) error {
	segments := r.plan.planner.snapshot.Segments
	for i := range segments {
		if _, isSmall := slices.BinarySearch(small, i); !isSmall {
			if err := r.search(i, w, trace); err != nil {
				return err
			}
		}
	}
	type done struct {
		began time.Time
		took  time.Duration
		step  Step
	}
	steps := make([]done, len(small))
	t := newTeam(r.crew, len(small), predicted)
	t.each = true
	err := r.share(t, w, func(x *worker, i, _ int) (from, to base.DocID, err error) {
		segment := small[i]
		began := time.Now()
		name, work, err := x.run.searchBy(segment)
		x.work.Add(work)
		if trace != nil {
			steps[i] = done{began, time.Since(began), x.run.step(segment, name, work)}
		}
		if err != nil {
			return 0, 0, failedSegment(r.plan, segment, err)
		}
		view := r.view(segment)
		return view.Base, view.Base + base.DocID(view.NumDocs()), nil
	})
	if trace != nil {
		for i := range steps {
			if !steps[i].began.IsZero() {
				trace.AddFor(steps[i].began, steps[i].took, steps[i].step)
			}
		}
	}
	if err != nil {
		if ended := r.stop.Err(); ended != nil {
			return ended
		}
	}
	return err
}
