package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// exhaustiveTAAT scores every posting, term at a time, into one accumulator per document
// (Buckley and Lewit, "Optimization of inverted vector searches", SIGIR 1985).
type exhaustiveTAAT struct{ mode Mode }

var _ Traversal = exhaustiveTAAT{}

func (exhaustiveTAAT) Name() string { return "exhaustive-taat" }

func (t exhaustiveTAAT) Mode() Mode { return t.mode }

func (t exhaustiveTAAT) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	s.open(q)
	return s.close(t.run(stop, s, q, queue))
}

func (t exhaustiveTAAT) run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if cap(s.accs) < q.NumDocs {
		s.accs = make([]base.Score, q.NumDocs)
		s.matched = make([]uint32, q.NumDocs)
	}
	accs, matched := s.accs[:q.NumDocs], s.matched[:q.NumDocs]
	clear(accs)
	clear(matched)
	p := poll{stop: stop}
	for i := range s.legs {
		l := &s.legs[i]
		for l.cursor.NextBlock() != base.NoDocID {
			freqs := l.cursor.BlockFreqs()
			if freqs == nil {
				return l.cursor.Err()
			}
			docIDs := l.cursor.BlockDocIDs()
			for j, d := range docIDs {
				accs[d] += l.Term.Score(freqs[j], l.Lengths[d])
				matched[d]++
			}
			s.Stats.PostingsScored += int64(len(docIDs))
			if err := p.after(len(docIDs)); err != nil {
				return err
			}
		}
		if err := l.cursor.Err(); err != nil {
			return err
		}
	}
	least := uint32(1)
	if t.mode == And {
		least = uint32(len(s.legs))
	}
	for d, n := range matched {
		if n >= least && n > 0 && q.live(uint32(d)) {
			s.Stats.Candidates++
			queue.Add(base.Hit{DocID: q.Base + base.DocID(d), Score: accs[d]})
		}
	}
	return nil
}
