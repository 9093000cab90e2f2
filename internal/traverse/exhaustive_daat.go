package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// exhaustiveDAAT scores every posting, document at a time (Turtle and Flood, 1995, §3.2; see
// blockMaxMaxScore), as simply as possible.
type exhaustiveDAAT struct{ mode Mode }

var _ Traversal = exhaustiveDAAT{}

func (exhaustiveDAAT) Name() string { return "exhaustive-daat" }

func (t exhaustiveDAAT) Mode() Mode { return t.mode }

func (t exhaustiveDAAT) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	legs := s.open(q)
	for i := range legs {
		legs[i].cursor.NextGEQ(q.From)
	}
	return s.close(t.run(stop, s, q, queue))
}

func (t exhaustiveDAAT) run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	legs := s.legs
	p := poll{stop: stop}
	for {
		doc := base.NoDocID
		for i := range legs {
			doc = min(doc, legs[i].cursor.DocID())
		}
		if doc >= q.end() {
			return nil
		}
		var sum base.Score
		matched := 0
		for i := range legs {
			l := &legs[i]
			if l.cursor.DocID() != doc {
				continue
			}
			sum += l.Term.Score(l.cursor.Freq(), l.Lengths[doc])
			matched++
			l.cursor.Next()
			if err := l.cursor.Err(); err != nil {
				return err
			}
		}
		s.Stats.PostingsScored += int64(matched)
		if (t.mode == Or || matched == len(legs)) && q.live(uint32(doc)) {
			s.Stats.Candidates++
			queue.Add(base.Hit{DocID: q.Base + doc, Score: sum})
		}
		if err := p.after(matched); err != nil {
			return err
		}
	}
}
