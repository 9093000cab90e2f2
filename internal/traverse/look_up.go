package traverse

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/simd/scoring"
	"github.com/griffin-search/griffin/internal/topk"
)

// lookUp looks up the live documents in the lists, a part of them at a time: for filters that few documents
// match.
//
// In an Or, the lists follow each other in descending order of MaxScore, as in blockMaxMaxScore's windows:
// the k-th best partial sum is a threshold, which excludes documents that the remaining lists cannot lift to it.
// In an And, the shortest list is first.
type lookUp struct{ mode Mode }

var _ Traversal = lookUp{}

func (lookUp) Name() string { return "look-up" }

func (t lookUp) Mode() Mode { return t.mode }

// LookUp returns the traversal for few documents.
func LookUp(mode Mode) Traversal { return lookUpOf[mode] }

var lookUpOf = [...]Traversal{Or: lookUp{Or}, And: lookUp{And}}

// lookUpDocs are looked up together.
const lookUpDocs = 8 * codec.BlockLen

// Its memory is reused.
type lookUps struct {
	legs  []*legState
	rests []base.Score // sums of the MaxScores of the lists after each
	docs  docReader
	exact postings.Cursor
	zeros []int // the lengths from which on the lists' contributions can be 0

	best         topk.Queue
	docIDs, sums [lookUpDocs]uint32
}

func (t lookUp) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	if s.lookUps == nil {
		s.lookUps = new(lookUps)
	}
	x := s.lookUps
	x.docs = docReader{docs: q.Docs, live: q.Live, end: uint32(q.NumDocs), all: q.Docs == nil && q.Live == nil}
	defer func() { x.docs = docReader{} }()
	var err error
	switch {
	case !q.narrow():
		err = x.each(stop, s, q, queue, t.mode)
	case t.mode == And:
		err = x.intersect(stop, s, q, queue)
	default:
		err = x.merge(stop, s, q, queue)
	}
	return s.close(err)
}

// open sorts the lists that are not empty.
func (x *lookUps) open(s *Scratch, q *Query, order func(a, b *legState) int) {
	x.legs = x.legs[:0]
	legs := s.open(q)
	for i := range legs {
		if legs[i].List.DocFreq > 0 {
			x.legs = append(x.legs, &legs[i])
		}
	}
	slices.SortFunc(x.legs, order)
	x.rests = slices.Grow(x.rests[:0], len(x.legs))[:len(x.legs)]
	rest := base.Score(0)
	for i := len(x.legs) - 1; i >= 0; i-- {
		x.rests[i] = rest
		rest += x.legs[i].MaxScore
	}
}

// merge runs an Or.
func (x *lookUps) merge(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	x.open(s, q, func(a, b *legState) int { return byMaxScore(b, a) })
	if len(x.legs) == 0 {
		return nil
	}
	if s.maxScore == nil {
		s.maxScore = new(maxScore)
	}
	found := &s.maxScore.found
	need := max(q.Threshold, queue.Need())
	p := poll{stop: stop}
	for {
		found.n = x.docs.next(found.docIDs[:lookUpDocs])
		if found.n == 0 || x.rests[0]+x.legs[0].MaxScore < need {
			return nil
		}
		clear(found.sums[:found.n])
		for i := 0; i < len(x.legs) && found.n > 0; i++ {
			l := x.legs[i]
			before := l.cursor.Stats().PostingsDecoded
			n := found.n
			s.Stats.PostingsScored += found.add(l, less(need, x.rests[i]))
			if i+1 < len(x.legs) || need == 0 {
				need = max(need, x.reached(found, need, queue.K()))
			}
			found.keep(less(need, x.rests[i]))
			if err := p.after(n + l.cursor.Stats().PostingsDecoded - before); err != nil {
				return err
			}
		}
		if need == 0 {
			if err := x.dropUnmatched(found); err != nil {
				return err
			}
		}
		s.Stats.Candidates += int64(found.n)
		for i, sum := range found.sums[:found.n] {
			if base.Score(sum) >= need {
				queue.Add(base.Hit{DocID: q.Base + base.DocID(found.docIDs[i]), Score: base.Score(sum)})
				need = max(need, queue.Need())
			}
		}
		found.n = 0
	}
}

// less subtracts, down to 0.
func less(need, rest base.Score) base.Score { return need - min(need, rest) }

// reached returns a score above need that the partial sums of k candidates reach, or 0.
func (x *lookUps) reached(found *candidates, need base.Score, k int) base.Score {
	if k == 0 || found.n <= k {
		return 0
	}
	n := scoring.Select(x.docIDs[:found.n], x.sums[:found.n], found.docIDs[:found.n], found.sums[:found.n], uint32(need)+1)
	if n < k {
		return 0
	}
	x.best.Reset(k)
	for i, sum := range x.sums[:n] {
		x.best.Add(base.Hit{DocID: base.DocID(i), Score: base.Score(sum)})
	}
	return x.best.Need() - 1
}

// dropUnmatched drops the candidates that are in no list. Those with a contribution of 0 stay.
func (x *lookUps) dropUnmatched(found *candidates) error {
	n := 0
	x.zeros = x.zeros[:0]
	for _, l := range x.legs {
		x.zeros = append(x.zeros, sort.Search(math.MaxUint32, func(length int) bool { return l.Term.Score(1, uint32(length)) == 0 }))
	}
	for i, d := range found.docIDs[:found.n] {
		sum := found.sums[i]
		matched := sum > 0
		for j := 0; j < len(x.legs) && !matched; j++ {
			l := x.legs[j]
			if int(l.Lengths[d]) < x.zeros[j] {
				continue // all contributions in d are greater
			}
			c := &x.exact
			c.Reset(l.List, nil)
			matched = c.NextGEQ(base.DocID(d)) == base.DocID(d)
			if err := c.Err(); err != nil {
				return err
			}
		}
		if matched {
			found.docIDs[n], found.sums[n] = d, sum
			n++
		}
	}
	found.n = n
	return nil
}

// intersect runs an And.
func (x *lookUps) intersect(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	x.open(s, q, byDocFreq)
	if len(x.legs) == 0 || len(x.legs) < len(q.Legs) {
		return nil
	}
	step, err := s.step(q)
	if err != nil {
		return err
	}
	need := max(q.Threshold, queue.Need())
	p := poll{stop: stop}
	for {
		part := Candidates{DocIDs: x.docIDs[:], Scores: x.sums[:]}
		part = part.slice(0, x.docs.next(part.DocIDs[:stepLen]))
		if part.Len() == 0 || x.rests[0]+x.legs[0].MaxScore < need {
			return nil
		}
		clear(part.Scores)
		for i, l := range x.legs {
			part = part.slice(0, step.intersect(l, &part, less(need, x.rests[i])))
		}
		s.Stats.Candidates += int64(part.Len())
		for i, d := range part.DocIDs {
			if sum := base.Score(part.Scores[i]); sum >= need {
				queue.Add(base.Hit{DocID: q.Base + base.DocID(d), Score: sum})
				need = max(need, queue.Need())
			}
		}
		if err := p.after(stepLen + step.read()); err != nil {
			return err
		}
	}
}

// each scores one document after the other, in 64 bits.
func (x *lookUps) each(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue, mode Mode) error {
	legs := s.open(q)
	p := poll{stop: stop}
	for {
		n := x.docs.next(x.docIDs[:])
		if n == 0 {
			return nil
		}
		for _, d := range x.docIDs[:n] {
			doc, sum, matched := base.DocID(d), base.Score(0), 0
			for i := range legs {
				l := &legs[i]
				if l.cursor.NextGEQ(doc) == doc {
					sum += l.Term.Score(l.cursor.Freq(), l.Lengths[d])
					matched++
				}
				if err := l.cursor.Err(); err != nil {
					return err
				}
			}
			s.Stats.PostingsScored += int64(matched)
			if matched == len(legs) || mode == Or && matched > 0 {
				s.Stats.Candidates++
				queue.Add(base.Hit{DocID: q.Base + doc, Score: sum})
			}
			if err := p.after(codec.BlockLen * len(legs)); err != nil {
				return err
			}
		}
	}
}

// docReader reads documents in rising order.
type docReader struct {
	docs []uint32 // the rest, or
	all  bool     // all in [at, end), or
	live []uint64 // of these bits
	at   uint32   // read up to here
	end  uint32
}

// next sets dst to the next documents and returns their number.
func (r *docReader) next(dst []uint32) (n int) {
	switch {
	case r.all:
		for ; n < len(dst) && r.at < r.end; n++ {
			dst[n] = r.at
			r.at++
		}
	case r.live != nil:
		for r.at < r.end && n < len(dst) {
			w := r.live[r.at/64] >> (r.at % 64)
			if w == 0 {
				r.at = (r.at/64 + 1) * 64
				continue
			}
			if r.at += uint32(bits.TrailingZeros64(w)); r.at >= r.end {
				break
			}
			dst[n] = r.at
			n++
			r.at++
		}
	default:
		n = copy(dst, r.docs)
		r.docs = r.docs[n:]
	}
	return n
}
