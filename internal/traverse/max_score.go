package traverse

import (
	"cmp"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// listMaxScore is MaxScore, document at a time with one bound per list (Turtle and Flood, 1995,
// §4.2, see blockMaxMaxScore; essential lists as in Strohman, Turtle and Croft, "Optimization
// strategies for complex queries", SIGIR 2005, §3.1).
//
// Lists are ordered by MaxScore; the longest prefix whose sum cannot reach the threshold is
// nonEssential. The others are merged by DocID; each document is looked up in the nonEssential
// lists, in descending order of bounds, until the remaining bounds cannot lift it to the
// threshold.
//
// We differ: the threshold starts from the k-th best contribution known from the lists (Kane
// and Tompa, SIGIR 2018; see blockMaxMaxScore).
type listMaxScore struct{}

var _ Traversal = listMaxScore{}

func (listMaxScore) Name() string { return "maxscore" }

func (listMaxScore) Mode() Mode { return Or }

// Its memory is reused.
type listsByMaxScore struct {
	lists []*legState // in increasing order of MaxScore
	sums  []base.Score
}

func (listMaxScore) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	legs := s.open(q)
	need := firstNeed(legs, q, queue)
	m := &s.byMaxScore
	m.lists = m.lists[:0]
	for i := range legs {
		if legs[i].cursor.Next() != base.NoDocID {
			m.lists = append(m.lists, &legs[i])
		}
	}
	slices.SortFunc(m.lists, byMaxScore)
	m.sums = append(m.sums[:0], 0)
	for i, l := range m.lists {
		m.sums = append(m.sums, m.sums[i]+l.MaxScore)
	}
	return s.close(m.run(stop, &s.Stats, q, queue, need))
}

func (m *listsByMaxScore) run(stop Interrupt, stats *Stats, q *Query, queue *topk.Queue, need base.Score) error {
	p := poll{stop: stop}
	// Invariant: lists[:nonEssential] sum to sums[nonEssential] < need.
	nonEssential := 0
	for {
		for nonEssential < len(m.lists) && m.sums[nonEssential+1] < need {
			nonEssential++
		}
		essential := m.lists[nonEssential:]
		doc := base.NoDocID
		for _, l := range essential {
			doc = min(doc, l.cursor.DocID())
		}
		if doc == base.NoDocID {
			return nil
		}
		live := q.live(uint32(doc))
		var sum base.Score
		scored := 0
		for _, l := range essential {
			if l.cursor.DocID() != doc {
				continue
			}
			if live {
				sum += l.Term.Score(l.cursor.Freq(), l.Lengths[doc])
				scored++
			}
			l.cursor.Next()
		}
		if live {
			i := nonEssential
			for ; i > 0 && sum+m.sums[i] >= need; i-- {
				l := m.lists[i-1]
				if l.cursor.NextGEQ(doc) == doc {
					sum += l.Term.Score(l.cursor.Freq(), l.Lengths[doc])
					scored++
				}
			}
			if i == 0 {
				stats.Candidates++
				if sum >= need {
					queue.Add(base.Hit{DocID: q.Base + doc, Score: sum})
					need = max(need, queue.Need())
				}
			}
		}
		stats.PostingsScored += int64(scored)
		if err := p.after(scored + 1); err != nil {
			return err
		}
	}
}

// byMaxScore orders legs by increasing MaxScore; among equals, the longer list is first.
func byMaxScore(a, b *legState) int {
	return cmp.Or(cmp.Compare(a.MaxScore, b.MaxScore), cmp.Compare(b.List.DocFreq, a.List.DocFreq))
}

// firstNeed returns the least score that can enter before anything is read, from the
// search's threshold and each list's k-th best contribution.
func firstNeed(legs []legState, q *Query, queue *topk.Queue) base.Score {
	need := max(q.Threshold, queue.Need())
	for i := range legs {
		if legs[i].List.DocFreq > 0 {
			need = max(need, legs[i].kthScore(q, queue.K()))
		}
	}
	return need
}
