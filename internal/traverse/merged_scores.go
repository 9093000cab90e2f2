package traverse

import (
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/scoring"
	"github.com/griffin-search/griffin/internal/topk"
)

// mergedScores scores each list as a whole and merges the results, for short lists, whose blocks other
// traversals would take longer to arrange than to read.
//
// A document that reaches the threshold has, in each of its lists, at least the threshold less the MaxScores of
// the other lists. Lower contributions are removed before the lists are merged, so that mostly few are left; the
// sum of a document that loses one stays below the threshold. The first threshold is as in blockMaxMaxScore.
type mergedScores struct{}

var _ Traversal = mergedScores{}

func (mergedScores) Name() string { return "merged-scores" }

func (mergedScores) Mode() Mode { return Or }

// scored are documents in increasing order with their sums.
type scored struct{ docIDs, scores []uint32 }

// scoredLists is the memory of mergedScores: a list, the merged lists before it, and room for the next merge.
type scoredLists struct{ list, sums, merged scored }

func (mergedScores) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	if !q.narrow() {
		return exhaustiveDAAT{Or}.Run(stop, s, q, queue)
	}
	legs := s.open(q)
	need := firstNeed(legs, q, queue)
	var bounds base.Score
	for i := range legs {
		bounds += legs[i].MaxScore
	}
	if need > bounds {
		return s.close(nil)
	}
	m := &s.scored
	m.sums.truncate(0)
	p := poll{stop: stop}
	for i := range legs {
		l := &legs[i]
		least := base.Score(0)
		if others := bounds - l.MaxScore; need > others {
			least = need - others
		}
		m.list.truncate(0)
		for l.cursor.NextBlock() != base.NoDocID {
			n := m.list.append(l, least)
			s.Stats.PostingsScored += int64(n)
			if err := p.after(n); err != nil {
				return s.close(err)
			}
		}
		m.merge()
	}
	for i, d := range m.sums.docIDs {
		sum := base.Score(m.sums.scores[i])
		if sum < need || !q.live(d) {
			continue
		}
		s.Stats.Candidates++
		queue.Add(base.Hit{DocID: q.Base + base.DocID(d), Score: sum})
		need = max(need, queue.Need())
	}
	return s.close(nil)
}

func (s *scored) truncate(n int) { s.docIDs, s.scores = s.docIDs[:n], s.scores[:n] }

func (s *scored) grow(n int) {
	s.docIDs, s.scores = slices.Grow(s.docIDs, n), slices.Grow(s.scores, n)
}

// append appends the postings of the list's current block with scores of at least least, and returns the
// number of the block's postings.
func (s *scored) append(l *legState, least base.Score) int {
	docIDs, freqs := l.cursor.BlockDocIDs(), l.cursor.BlockFreqs()
	if freqs == nil { // an error has ended the list
		return 0
	}
	from, n := len(s.docIDs), len(docIDs)
	s.grow(n)
	s.truncate(from + n)
	scores := s.scores[from:]
	scoring.Contributions(scores, docIDs, freqs, l.Lengths, &l.term)
	s.truncate(from + scoring.Select(s.docIDs[from:], scores, docIDs, scores, uint32(least)))
	return n
}

// merge adds the list to the sums.
func (m *scoredLists) merge() {
	a, b, to := &m.sums, &m.list, &m.merged
	if len(a.docIDs) == 0 {
		m.sums, m.list = m.list, m.sums
		return
	}
	if len(b.docIDs) == 0 {
		return
	}
	to.truncate(0)
	to.grow(len(a.docIDs) + len(b.docIDs))
	docIDs, scores := to.docIDs[:cap(to.docIDs)], to.scores[:cap(to.scores)]
	n, i, j := 0, 0, 0
	for i < len(a.docIDs) && j < len(b.docIDs) {
		x, y := a.docIDs[i], b.docIDs[j]
		// Without branches, because they are unpredictable.
		inA, inB := atMost(x, base.DocID(y)), atMost(y, base.DocID(x))
		docIDs[n], scores[n] = min(x, y), a.scores[i]&-uint32(inA)+b.scores[j]&-uint32(inB)
		i, j, n = i+inA, j+inB, n+1
	}
	to.docIDs = append(append(docIDs[:n], a.docIDs[i:]...), b.docIDs[j:]...)
	to.scores = append(append(scores[:n], a.scores[i:]...), b.scores[j:]...)
	m.sums, m.merged = m.merged, m.sums
}
