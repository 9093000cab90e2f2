package traverse

import "github.com/griffin-search/griffin/internal/base"

// docOrder orders lists by the current DocIDs of their cursors, for WAND and its descendants.
type docOrder struct {
	// Invariant: increasing order of doc; exhausted lists are last.
	heads []head
}

// head copies what finding a pivot reads, so that the loop stays within a few cache lines.
type head struct {
	doc base.DocID // of leg.cursor
	max base.Score // leg.MaxScore
	leg *legState
}

func (o *docOrder) start(legs []legState) {
	o.heads = o.heads[:0]
	for i := range legs {
		l := &legs[i]
		o.heads = append(o.heads, head{doc: l.cursor.Next(), max: l.MaxScore, leg: l})
		for j := len(o.heads) - 1; j > 0 && o.heads[j].doc < o.heads[j-1].doc; j-- {
			o.heads[j-1], o.heads[j] = o.heads[j], o.heads[j-1]
		}
	}
}

// pivot returns the first list up to which the MaxScores sum to need, and its DocID, before
// which no document can reach need, or NoDocID. All lists at the same DocID are at or before
// the returned one.
func (o *docOrder) pivot(need base.Score) (int, base.DocID) {
	var sum base.Score
	for i := range o.heads {
		sum += o.heads[i].max
		if sum >= need {
			doc := o.heads[i].doc
			for i+1 < len(o.heads) && o.heads[i+1].doc == doc {
				i++
			}
			return i, doc
		}
	}
	return 0, base.NoDocID
}

// strongest returns the list with the greatest MaxScore among those before end and
// positioned before doc; one must exist. Such lists are the shortest, so a skip is
// expected to be the longest.
func (o *docOrder) strongest(end int, doc base.DocID) int {
	best := 0 // it is before doc if any is
	for i := 1; i < end && o.heads[i].doc < doc; i++ {
		if o.heads[i].max > o.heads[best].max {
			best = i
		}
	}
	return best
}

// nextGEQ moves list i to the first DocID from target, which is above its current one,
// and restores the order.
func (o *docOrder) nextGEQ(i int, target base.DocID) {
	h := o.heads[i]
	h.doc = h.leg.cursor.NextGEQ(target)
	for ; i+1 < len(o.heads) && o.heads[i+1].doc < h.doc; i++ {
		o.heads[i] = o.heads[i+1]
	}
	o.heads[i] = h
}

// next moves the first n lists to their next postings and restores the order.
func (o *docOrder) next(n int) {
	for i := n - 1; i >= 0; i-- {
		h := o.heads[i]
		h.doc = h.leg.cursor.Next()
		j := i
		for ; j+1 < len(o.heads) && o.heads[j+1].doc < h.doc; j++ {
			o.heads[j] = o.heads[j+1]
		}
		o.heads[j] = h
	}
}
