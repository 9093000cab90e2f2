package plan

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Counts and the search for all matches with helpers: each range of documents has a window of its own (matcher).

// countsTogether reports whether helpers pay for counting.
func countsTogether(r *stageRun) bool {
	if !r.crew.shares() {
		return false
	}
	cost, unknown := 0, false
	for i := range r.plan.planner.snapshot.Segments {
		if _, known := r.knownCount(i); !known {
			unknown = true
			cost += findCost(r.sc.begin(&r.plan.words, i, r.stop), counted(r.st.root))
		}
	}
	return unknown && time.Duration(cost)*findTime >= r.crew.times.large
}

// countTogether is countAll with helpers. The ranges of all segments are tasks.
func countTogether(r *stageRun, w *Work) (n int64, err error) {
	segments := r.plan.planner.snapshot.Segments
	unit := r.crew.least
	counts := slices.Grow(r.sc.counts[:0], len(segments))
	r.sc.counts = counts
	end := 0 // of the segments, one after another, each rounded up to units
	for i := range segments {
		if found, known := r.knownCount(i); known {
			n += found
			continue
		}
		m := r.sc.begin(&r.plan.words, i, r.stop)
		counts = counts[:len(counts)+1]
		c := &counts[len(counts)-1]
		c.begin(r, i)
		err := m.findSets(&c.sets, c.node)
		w.Add(m.work)
		if err != nil {
			return 0, r.failed(i, err)
		}
		n += c.known
		end += (segments[i].NumDocs() + unit - 1) / unit * unit
		c.end = end
	}
	var sum atomic.Int64
	count := func(r *stageRun, from, to base.DocID, w *Work) error {
		if err := r.stop.Err(); err != nil {
			return err
		}
		begin := 0
		for i := range counts {
			c := &counts[i]
			first, last := max(int(from)-begin, 0), min(int(to)-begin, segments[c.segment].NumDocs())
			begin = c.end
			if first >= last {
				continue
			}
			m := r.sc.beginIn(&r.plan.words, c.segment, r.stop, base.DocID(first), base.DocID(last), &c.sets)
			n, err := c.count(r)
			w.Add(m.work)
			if err != nil {
				return r.failed(c.segment, err)
			}
			sum.Add(int64(n))
		}
		return nil
	}
	err = together(r, end, w, count)
	return n + sum.Load(), err
}

// findPays reports whether helpers pay for finding the documents of a node.
func findPays(r *stageRun, segment int, n node) bool {
	return r.mayShare() && r.view(segment).NumDocs() > r.crew.least &&
		time.Duration(findCost(r.sc.begin(&r.plan.words, segment, r.stop), n))*findTime >= r.crew.times.large
}

// findAll returns the live documents of a node.
func findAll(r *stageRun, segment int, n node, w *Work) (found documents, err error) {
	if findPays(r, segment, n) {
		return findTogether(r, segment, n, w)
	}
	m := r.sc.begin(&r.plan.words, segment, r.stop)
	found, err = narrower{m}.documentsOf(n)
	if err == nil && found.count > 0 {
		found = r.live(found)
	}
	w.Add(m.work)
	return found, err
}

// findTogether is findAll with helpers.
func findTogether(r *stageRun, segment int, n node, w *Work) (documents, error) {
	m, numDocs := r.sc.begin(&r.plan.words, segment, r.stop), r.view(segment).NumDocs()
	var sets foundSets
	err := m.findSets(&sets, n)
	w.Add(m.work)
	if err != nil {
		return documents{}, err
	}
	filters := m.filters
	m.result = cleared(m.result, numDocs)
	bits := m.result
	var count atomic.Int64
	find := func(r *stageRun, from, to base.DocID, w *Work) error {
		m := r.sc.beginIn(&r.plan.words, segment, r.stop, from, to, &sets)
		found, err := narrower{m}.documentsOf(n)
		if err == nil && found.count > 0 {
			found = r.live(found)
			m.in.add(bits, &found) // the words of other windows are others'
			count.Add(int64(found.count))
		}
		w.Add(m.work)
		return err
	}
	err = together(r, numDocs, w, find)
	m = r.sc.begin(&r.plan.words, segment, r.stop)
	m.filters = filters // as they were: windows have none
	return narrower{m}.compact(documents{words: bits, count: int(count.Load())}), err
}

// together calls find for ranges of documents, with r or the run of a helper.
func together(r *stageRun, numDocs int, w *Work, find func(r *stageRun, from, to base.DocID, w *Work) error) error {
	var work Work
	err := r.inRanges(numDocs, &work, func(from, to base.DocID) error {
		return find(r, from, to, &work)
	}, func(x *worker, from, to base.DocID) error {
		return find(&x.run, from, to, &x.work)
	})
	boundSkipped(r, &work)
	w.Add(work)
	return err
}

// boundSkipped corrects the skipped blocks of ranges, each of which may have counted those of whole lists.
func boundSkipped(r *stageRun, w *Work) {
	blocks := 0
	for i := range r.plan.planner.snapshot.Segments {
		for t := range r.plan.words.terms {
			blocks += r.plan.words.list(i, t).NumBlocks()
		}
	}
	w.BlocksSkipped = max(min(w.BlocksSkipped, int64(blocks)-w.BlocksDecoded), 0)
}

// findCost estimates the cost of finding the documents of a node as narrower does, beyond its sets.
func findCost(m *matcher, n node) int {
	g, ok := n.(*group)
	if !ok || len(g.required) == 0 || g.atLeast > 1 {
		return m.words.maskCost(m.segment, n)
	}
	least := m.docFreq(g)
	cost := 0
	for _, nodes := range [...][]node{g.required, g.excluded} {
		for _, child := range nodes {
			each := lookUpCost
			walkLeaves(child, false, func(l *leaf, _ bool) {
				if l.isPhrase() {
					each += treePostingCost * len(l.terms)
				}
			})
			cost += min(findCost(m, child), least*each)
		}
	}
	return cost
}
