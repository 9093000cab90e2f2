package plan

import (
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
)

// rankPositional finds the matches of a conjunction with phrases, counts them and adds the best to the queue. Without counts,
// documents whose frequency of the phrase is too low are dropped before excluded parts are read.
func rankPositional(r *stageRun, segment int, root *group, w *Work) error {
	r.setMatches(segment, 0)
	numDocs := r.view(segment).NumDocs()
	pays := findPays(r, segment, counted(root))
	m := r.sc.begin(&r.plan.words, segment, r.stop)
	if !pays && (r.counts || isFew(m.docFreq(root), numDocs)) {
		return rankRange(r, segment, root, 0, base.DocID(numDocs), nil, w)
	}
	return rankInRanges(r, segment, root, pays, w)
}

// rankInRanges is rankPositional by ranges of documents, which others may help with if it pays.
func rankInRanges(r *stageRun, segment int, root *group, pays bool, w *Work) error {
	numDocs, m, mem := r.view(segment).NumDocs(), &r.sc.matcher, &r.sc.ranges
	defer mem.reset()
	err := m.findSets(&mem.sets, root)
	w.Add(m.work)
	if err != nil {
		return err
	}
	filters := m.filters
	if pays {
		err = rankTogether(r, segment, root, w)
	} else {
		err = alone(numDocs, func(from, to base.DocID) error { return rankRange(r, segment, root, from, to, &mem.sets, &mem.work) })
		boundSkipped(r, &mem.work)
		w.Add(mem.work)
	}
	r.sc.matcher.filters = filters // as they were: windows have none
	return err
}

func rankTogether(r *stageRun, segment int, root *group, w *Work) error {
	sets := &r.sc.ranges.sets
	return together(r, r.view(segment).NumDocs(), w, func(r *stageRun, from, to base.DocID, w *Work) error {
		return rankRange(r, segment, root, from, to, sets, w)
	})
}

// rangeMemory is what the ranges of a search share.
type rangeMemory struct {
	sets foundSets
	work Work // of the search's own goroutine
}

func (m *rangeMemory) reset() {
	clear(m.sets.sets)
	m.sets.sets, m.work = m.sets.sets[:0], Work{}
}

// rankRange is rankPositional in a range of documents, or with nil sets in all. It adds to the matches.
func rankRange(r *stageRun, segment int, root *group, from, to base.DocID, sets *foundSets, w *Work) error {
	m := r.sc.begin(&r.plan.words, segment, r.stop)
	if sets != nil {
		m = r.sc.beginIn(&r.plan.words, segment, r.stop, from, to, sets)
	}
	m.phrases.scored = root.required
	if bound := &m.phrases.own; !r.counts {
		*bound = phraseBound{}
		hopeless, err := boundPhrase(r, segment, root, bound)
		if hopeless || err != nil {
			return err
		}
		if bound.need > 0 {
			m.phrases.bound = bound
		}
	}
	found, err := narrower{m}.documentsOf(counted(root))
	if err == nil && found.count > 0 {
		found = r.live(found)
	}
	w.Add(m.work)
	if err != nil || found.count == 0 {
		return err
	}
	if r.counts {
		atomic.AddInt64(&r.matched[segment], int64(found.count))
	}
	return r.visit(segment, found, w)
}

// boundPhrase sets the bound of a conjunction's phrase if it has only one and the scores of the other parts are bounded.
// hopeless: no document reaches the queue.
func boundPhrase(r *stageRun, segment int, root *group, bound *phraseBound) (hopeless bool, err error) {
	if len(root.optional) > 0 {
		return false, nil
	}
	ws, leg := &r.plan.words, &r.sc.tree.leg
	var phrase *leaf
	var most, others base.Score
	for _, n := range root.required {
		switch n := n.(type) {
		case *constant:
			others += n.score
		case *leaf:
			scorer := ws.scorer(n)
			switch {
			case !n.isPhrase():
				if err := ws.leg(leg, segment, n.terms[0], scorer); err != nil {
					return false, err
				}
				others += leg.MaxScore
			case phrase != nil || !findable(n):
				return false, nil
			default:
				if most, err = ws.phraseMax(leg, segment, n, scorer); err != nil {
					return false, err
				}
				phrase = n
				bound.scorer, bound.lengths = scorer, r.view(segment).Lengths(n.field)
			}
		default:
			return false, nil
		}
	}
	need := r.sc.queue.Need() + r.st.offset
	if phrase == nil || need <= others {
		return false, nil
	}
	bound.need = need - others
	return most < bound.need, nil
}
