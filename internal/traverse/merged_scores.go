package traverse

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/scoring"
	"github.com/griffin-search/griffin/internal/topk"
)

// mergedScores scores each list as a whole and adds up the scores of documents in several lists, for short lists,
// whose blocks other traversals would take longer to arrange than to read.
//
// A document that reaches the threshold has, in each of its lists, at least the threshold less the MaxScores of
// the other lists. Lower contributions are removed before the lists are compared, so that mostly few are left; the
// sum of a document that loses one stays below the threshold. The first threshold is as in blockMaxMaxScore.
//
// Few documents are in several lists. So the first lists are not merged: a document moves from a list to an earlier
// one that has it, too. Blocks are matched with vector instructions, and the best documents are then selected list by
// list. Merging has unpredictable branches, or long chains of dependent instructions, for each posting.
type mergedScores struct{}

var _ Traversal = mergedScores{}

func (mergedScores) Name() string { return "merged-scores" }

func (mergedScores) Mode() Mode { return Or }

// Lists that stay apart; the others are merged, because each list is matched with all before it.
const apart = 4

// scored are documents in increasing order with their sums.
type scored struct{ docIDs, scores []uint32 }

// scoredLists is the memory of mergedScores.
type scoredLists struct {
	lists        [apart]scored // of different documents
	next, merged scored        // another list, and room for the next merge

	freqs   [codec.BlockLen]uint32
	of, at  [codec.BlockLen]uint8
	dropped []uint32 // positions in a list, in increasing order
}

func (mergedScores) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	if !q.narrow() {
		return exhaustiveDAAT{Or}.Run(stop, s, q, queue)
	}
	need := max(q.Threshold, queue.Need())
	var bounds base.Score
	for i := range q.Legs {
		l := &q.Legs[i]
		if l.List.DocFreq > 0 {
			bounds += l.MaxScore
			need = max(need, l.kthScore(q, queue.K()))
		}
	}
	if need > bounds {
		for i := range q.Legs {
			s.Stats.BlocksSkipped += int64(q.Legs[i].List.NumBlocks())
		}
		return nil
	}
	m := &s.scored
	p := poll{stop: stop}
	n := 0 // of m.lists
	for i := range q.Legs {
		l := &q.Legs[i]
		if l.List.DocFreq == 0 {
			continue
		}
		to := &m.next
		if n < apart {
			to = &m.lists[n]
		}
		to.truncate(0)
		least := less(need, bounds-l.MaxScore)
		for b := range l.List.NumBlocks() {
			if err := m.read(to, l, b, least, &s.Stats); err != nil {
				return fmt.Errorf("leg %d: %w", i, err)
			}
			if err := p.after(codec.BlockLen); err != nil {
				return err
			}
		}
		for j := range m.lists[:min(n, apart-1)] {
			m.move(to, &m.lists[j])
		}
		if n < apart {
			n++
		} else {
			m.merge(&m.lists[apart-1], to)
		}
	}
	for i := range m.lists[:n] {
		need = m.lists[i].queue(s, q, queue, need)
	}
	return nil
}

func (s *scored) truncate(n int) { s.docIDs, s.scores = s.docIDs[:n], s.scores[:n] }

func (s *scored) grow(n int) {
	if cap(s.docIDs)-len(s.docIDs) < n || cap(s.scores)-len(s.scores) < n {
		s.docIDs, s.scores = slices.Grow(s.docIDs, n), slices.Grow(s.scores, n)
	}
}

// read appends the postings of a block with scores of at least least.
func (m *scoredLists) read(to *scored, l *Leg, block int, least base.Score, stats *Stats) error {
	from := len(to.docIDs)
	to.grow(codec.BlockLen)
	docIDs, scores := to.docIDs[:from+codec.BlockLen][from:], to.scores[:from+codec.BlockLen][from:]
	n, err := l.List.DecodeBlock(block, (*[codec.BlockLen]uint32)(docIDs), &m.freqs)
	if err != nil {
		return err
	}
	stats.BlocksDecoded++
	stats.PostingsDecoded += int64(n)
	if f := leastFreq(&l.Term, least); f > 1 {
		n = scoring.Select(docIDs, m.freqs[:], docIDs[:n], m.freqs[:n], f)
	}
	stats.PostingsScored += int64(n)
	docIDs, scores = docIDs[:n], scores[:n]
	term := scoring.Term(l.Term)
	scoring.Contributions(scores, docIDs, m.freqs[:n], l.Lengths, &term)
	if least > 0 {
		n = scoring.Select(docIDs, scores, docIDs, scores, uint32(least))
	}
	to.truncate(from + n)
	return nil
}

// pad appends NoDocID, beyond the length, up to the end of a block.
func (s *scored) pad() {
	n := len(s.docIDs)
	s.grow((codec.BlockLen - n%codec.BlockLen) % codec.BlockLen)
	rest := s.docIDs[n : (n+codec.BlockLen-1)/codec.BlockLen*codec.BlockLen]
	for i := range rest {
		rest[i] = uint32(base.NoDocID)
	}
}

// move moves the scores of documents that are in both lists to the earlier one.
func (m *scoredLists) move(list, earlier *scored) {
	if len(list.docIDs) == 0 || len(earlier.docIDs) == 0 {
		return
	}
	list.pad()
	m.dropped = m.dropped[:0]
	docIDs := list.docIDs[:(len(list.docIDs)+codec.BlockLen-1)/codec.BlockLen*codec.BlockLen]
	for i, b := 0, 0; i < len(earlier.docIDs) && b < len(docIDs); b += codec.BlockLen {
		last := docIDs[min(b+codec.BlockLen, len(list.docIDs))-1]
		for i < len(earlier.docIDs) {
			looked, found := scoring.Match(&m.of, &m.at, earlier.docIDs[i:], (*[codec.BlockLen]uint32)(docIDs[b:]), last)
			for j, of := range m.of[:found] {
				at := b + int(m.at[j])
				earlier.scores[i+int(of)] += list.scores[at]
				m.dropped = append(m.dropped, uint32(at))
			}
			if i += looked; looked < codec.BlockLen {
				break
			}
		}
	}
	if len(m.dropped) > 0 {
		list.drop(m.dropped)
	}
}

// drop removes documents at positions in increasing order.
func (s *scored) drop(positions []uint32) {
	to := int(positions[0])
	for i, at := range positions {
		end := len(s.docIDs)
		if i+1 < len(positions) {
			end = int(positions[i+1])
		}
		copy(s.scores[to:], s.scores[at+1:end])
		to += copy(s.docIDs[to:], s.docIDs[at+1:end])
	}
	s.truncate(to)
}

// merge adds b to a.
func (m *scoredLists) merge(a, b *scored) {
	if len(b.docIDs) == 0 {
		return
	}
	to := &m.merged
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
	*a, *to = *to, *a
}

// queue adds the documents that reach need to the queue, and returns the next need.
func (s *scored) queue(sc *Scratch, q *Query, queue *topk.Queue, need base.Score) base.Score {
	docIDs, scores := s.docIDs, s.scores
	if need > 0 {
		n := scoring.Select(docIDs, scores, docIDs, scores, uint32(need))
		docIDs, scores = docIDs[:n], scores[:n]
	}
	for i, d := range docIDs {
		sum := base.Score(scores[i])
		if sum < need || !q.live(d) {
			continue
		}
		sc.Stats.Candidates++
		queue.Add(base.Hit{DocID: q.Base + base.DocID(d), Score: sum})
		// The documents of the next list can be before those in the queue, which win against hits of equal score.
		need = max(need, less(queue.Need(), 1))
	}
	return need
}
