package fastpath

import (
	"errors"
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// MaxK is the greatest K of a query.
const MaxK = 1000

// MaxTerms is the greatest number of terms of a query.
const MaxTerms = 512

// Mode says which documents match.
type Mode uint8

// The modes: documents that hold any, or all, of the terms; or all, and if that gives
// fewer than K hits in this segment, the answer of Or in its place (Ding et al., WWW
// 2009, §8.3). Whether a search of several segments has enough is for the caller to
// see: there, And and Or are two queries.
const (
	Or Mode = iota
	And
	AndOr
)

// Segment is what queries run on, in device memory. It is a plain value.
type Segment struct {
	NumDocs int
	// Base is added to the segment's DocIDs to make those of the hits.
	Base base.DocID
	// Live has bit d%32 of word d/32 set if document d is not deleted:
	// [ceil(NumDocs/32)]uint32. Zero: all are live.
	Live cuda.Buffer[uint32]
}

// Term is a term of a query in a segment.
type Term struct {
	Image Image
	// Lengths holds the tokens of each document in the field of the list:
	// [NumDocs]uint32. Not read if Score is linear.
	Lengths cuda.Buffer[uint32]
	Score   score.Term
	// Scale turns the bounds of the image's Shape (its Saturation and Max) into
	// scores of Score.
	Scale score.Scale
	// Kth are the list's (postings.Meta), 0 where they are not known or were made
	// for another Saturation. Used only if nothing is deleted or filtered.
	Kth [len(postings.Kth)]score.Bound
}

// Want says what is asked for beside the hits.
type Want uint8

// Parts of Want.
const (
	// WantCount asks for the number of documents that match.
	WantCount Want = 1 << iota
	// WantDocIDs asks for the DocIDs of all documents that match, rising, in device
	// memory; it includes WantCount.
	WantDocIDs
)

// Query is a flat query over one segment. Add does not keep it.
type Query struct {
	Mode Mode
	// K is how many hits are wanted, at most MaxK. 0: none, no document is scored.
	K    int
	Want Want
	// Terms are in any order; terms that the segment does not have are left out by
	// the caller (of And queries, that answers them). At most MaxTerms.
	Terms []Term
	// Filter, if not zero, holds a bitmap as Segment.Live: only documents in
	// it match.
	Filter cuda.Buffer[uint32]
	// Threshold is a score that at least K documents of the search are known to
	// reach, 0 if none is: documents that score less are left out.
	Threshold base.Score
}

// Errors of Add. The batch is as it was.
var (
	// ErrFull says that the batch has no room for the query: launch it and go on
	// in another.
	ErrFull = errors.New("batch is full")
	// ErrUnsuited says that the kernels cannot answer the query (too many terms or
	// hits, or scores that may pass 32 bits): the CPU can.
	ErrUnsuited = errors.New("query is not one for the GPU's fast path")
)

// maxThreshold is the highest threshold that is not more than any score.
const maxThreshold = math.MaxUint32

// MaxDocs is the greatest number of documents of a segment: so far below 2^32 that the
// kernels can count some superblocks, or postings for each thread, further than it goes.
const MaxDocs = 1<<32 - 1<<16

// check returns what is wrong with the query, or keeps it off the GPU.
func (q *Query) check(seg *Segment) error {
	switch {
	case q.K < 0 || q.Mode > AndOr || len(q.Terms) == 0:
		return fmt.Errorf("mode %d, k %d, %d terms: %w", q.Mode, q.K, len(q.Terms), base.ErrBadInput)
	case q.K > MaxK:
		return fmt.Errorf("%d hits: %w", q.K, ErrUnsuited)
	case len(q.Terms) > MaxTerms:
		return fmt.Errorf("%d terms: %w", len(q.Terms), ErrUnsuited)
	case q.Want&WantDocIDs != 0 && q.Mode != And:
		return fmt.Errorf("DocIDs of a query that is not And: %w", ErrUnsuited)
	case q.Mode == AndOr && q.Want != 0:
		return fmt.Errorf("count of a query that is And or Or: %w", ErrUnsuited)
	case int64(seg.NumDocs) > MaxDocs:
		return fmt.Errorf("%d documents: %w", seg.NumDocs, ErrUnsuited)
	case !seg.Live.IsZero() && seg.Live.Len() < (seg.NumDocs+31)/32:
		return fmt.Errorf("bitmap of %d words for %d documents: %w", seg.Live.Len(), seg.NumDocs, base.ErrBadInput)
	case !q.Filter.IsZero() && q.Filter.Len() < (seg.NumDocs+31)/32:
		return fmt.Errorf("filter of %d words for %d documents: %w", q.Filter.Len(), seg.NumDocs, base.ErrBadInput)
	}
	sum := uint64(0)
	for i := range q.Terms {
		t := &q.Terms[i]
		if t.Image.shape.NumDocs != seg.NumDocs || t.Image.data == 0 {
			return fmt.Errorf("term %d: image of a segment of %d documents, not %d: %w", i, t.Image.shape.NumDocs, seg.NumDocs, base.ErrBadInput)
		}
		if !t.Score.Linear && t.Lengths.Len() < seg.NumDocs {
			return fmt.Errorf("term %d: %d lengths of %d documents: %w", i, t.Lengths.Len(), seg.NumDocs, base.ErrBadInput)
		}
		if t.Score.Linear != t.Image.shape.Saturation.Linear {
			return fmt.Errorf("term %d: weights and frequencies mixed up: %w", i, base.ErrBadInput)
		}
		sum += t.most()
	}
	if sum > math.MaxUint32 {
		return fmt.Errorf("scores or bounds of up to 2^32 or more: %w", ErrUnsuited)
	}
	return nil
}

// most is what the term adds to the bound of a range at most: 255 steps, and twice that
// if the list is sparse, because the kernels add a range in two parts where 32 of its
// postings end inside it.
func (t *Term) most() uint64 {
	most := uint64(t.step()) * math.MaxUint8
	if t.Image.kind == sparse {
		most *= 2
	}
	return most
}

// step is what a step of the image's 8-bit contributions is worth at most: s steps
// bound the contribution of a posting from above, s*step >= Score.
//
// The saturation b of a posting is at most s/255 of the unit, and its contribution at
// most up*b + 1 (score.Scale), where Upper(unit) > up*unit. So s*Upper(unit)/255 is
// too little by 1 at most.
func (t *Term) step() uint32 {
	step := (uint64(t.Scale.Upper(t.Image.unit))+math.MaxUint8-1)/math.MaxUint8 + 1
	return uint32(min(step, math.MaxUint32))
}

// threshold is a score that at least q.K live documents reach.
func (q *Query) threshold(seg *Segment) uint32 {
	theta := q.Threshold
	if q.Mode != And && seg.Live.IsZero() && q.Filter.IsZero() {
		for i := range q.Terms {
			theta = max(theta, q.Terms[i].kthScore(q.K))
		}
	}
	return uint32(min(theta, maxThreshold))
}

// kthScore is a score that k documents reach by this term alone, or 0.
func (t *Term) kthScore(k int) base.Score {
	for i, n := range postings.Kth {
		if n >= k && t.Kth[i] > 0 {
			return t.Scale.Lower(t.Kth[i])
		}
	}
	return 0
}
