package leg

import (
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
