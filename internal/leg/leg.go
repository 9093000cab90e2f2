package leg

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// Leg is one term of a query in one segment.
type Leg struct {
	// The postings of the term, or Impacts its impact-ordered ones. If the segment does not
	// have the term, the list is empty or both are nil.
	List    *postings.List
	Impacts *impact.List
	Field   base.FieldID
	// Word is the term in the dictionary of Field, in the memory of the query; nil if not known.
	Word []byte
	// Linear for impact-ordered lists and for weights.
	Term score.Term
	// Scale converts the list's Bounds and Kth to scores of Term.
	Scale score.Scale
}

// DocFreq is 0 if the segment does not have the term.
func (l *Leg) DocFreq() uint32 {
	switch {
	case l.List != nil:
		return l.List.DocFreq
	case l.Impacts != nil:
		return l.Impacts.DocFreq
	}
	return 0
}

// ID identifies the list, which must exist, among the segment's lists of its kind.
func (l *Leg) ID() base.ListID {
	if l.List != nil {
		return l.List.ID()
	}
	return l.Impacts.ID()
}

// SizeBytes is the size in the index's file, or of the decoded postings of an
// impact-ordered list, as a GPU receives them.
func (l *Leg) SizeBytes() int64 {
	if l.List == nil {
		return 8 * int64(l.DocFreq())
	}
	return int64(l.List.Length)
}

// KthScore is a score that at least k documents reach by this term alone, or 0 if unknown. List
// must be written for the Saturation of Scale.
func (l *Leg) KthScore(k int) base.Score {
	if l.List == nil {
		return 0
	}
	for i, n := range postings.Kth {
		if n >= k && l.List.Kth[i] > 0 {
			return l.Scale.Lower(l.List.Kth[i])
		}
	}
	return 0
}

// LikelyKth estimates a score that n documents reach by this term alone, or returns 0 if nothing is known. Between the known
// k-th best contributions it interpolates in log n, and after the last it goes on as before. List is as for KthScore.
func (l *Leg) LikelyKth(n float64) base.Score {
	if l.List == nil || float64(l.List.DocFreq) < n {
		return 0
	}
	kth, known := &l.List.Kth, &postings.Kth
	at := 0
	for at < len(known) && float64(known[at]) < n {
		at++
	}
	switch {
	case at == 0:
		return l.KthScore(known[0])
	case at == len(known):
		at--
	}
	if kth[at] == 0 { // fewer documents than known[at]
		return 0
	}
	falls := float64(kth[at-1]-kth[at]) / math.Log(float64(known[at])/float64(known[at-1]))
	likely := float64(kth[at-1]) - float64(falls*math.Log(n/float64(known[at-1])))
	if likely < 1 {
		return 0
	}
	return l.Scale.Lower(score.Bound(likely))
}

// LikelyRank returns a number of documents of which, if a random share of them is left, probably k are: n*share, less a
// number of standard deviations of a random choice, is k.
func LikelyRank(k int, share, deviations float64) float64 {
	of := float64(deviations * math.Sqrt(1-share))
	root := of + math.Sqrt(float64(of*of)+float64(4*float64(k)))
	return root * root / 4 / share
}
