package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// wand is WAND, "weak AND" (Broder, Carmel, Herscovici, Soffer and Zien, "Efficient query
// evaluation using a two-level retrieval process", CIKM 2003, §3). Lists are ordered by their
// current DocIDs. No document can enter before the pivot, the first list up to which the
// MaxScores sum to the threshold. If all lists before it have reached its document, that is
// scored; otherwise the one with the greatest MaxScore skips to it (the paper's pickTerm: the
// highest idf).
//
// We differ: the threshold starts as in maxscore.
type wand struct{}

var _ Traversal = wand{}

func (wand) Name() string { return "wand" }

func (wand) Mode() Mode { return Or }

func (w wand) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	legs := s.open(q)
	need := firstNeed(legs, q, queue)
	s.order.start(legs)
	return s.close(w.run(stop, s, q, queue, need))
}

func (wand) run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue, need base.Score) error {
	o := &s.order
	poll := poll{stop: stop}
	for {
		p, doc := o.pivot(need)
		if doc == base.NoDocID {
			return nil
		}
		if o.heads[0].doc < doc {
			o.nextGEQ(o.strongest(p, doc), doc)
		} else {
			if q.live(uint32(doc)) {
				var sum base.Score
				for i := range o.heads[:p+1] {
					l := o.heads[i].leg
					sum += l.Term.Score(l.cursor.Freq(), l.Lengths[doc])
				}
				s.Stats.PostingsScored += int64(p + 1)
				s.Stats.Candidates++
				if sum >= need {
					queue.Add(base.Hit{DocID: q.Base + doc, Score: sum})
					need = max(need, queue.Need())
				}
			}
			o.next(p + 1)
		}
		if err := poll.after(p + 1); err != nil {
			return err
		}
	}
}
