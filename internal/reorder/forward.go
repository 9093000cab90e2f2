package reorder

import (
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
)

// Forward is the forward index of a collection in compressed sparse rows: the
// terms of document d are Terms[Offsets[d]:Offsets[d+1]], each below NumTerms,
// each once, in any order. Terms of a single document say nothing about
// neighbourhood and are best left out.
type Forward struct {
	Offsets  []uint64 // [NumDocs+1], rising, Offsets[0] == 0
	Terms    []uint32 // [Offsets[NumDocs]]
	NumTerms int
}

// NumDocs returns the number of documents.
func (f *Forward) NumDocs() int { return max(len(f.Offsets)-1, 0) }

// Doc returns the terms of a document.
func (f *Forward) Doc(doc uint32) []uint32 {
	return f.Terms[f.Offsets[doc]:f.Offsets[doc+1]]
}

// Validate checks the shape and every term number.
func (f *Forward) Validate() error {
	if len(f.Offsets) == 0 {
		return fmt.Errorf("reorder: forward index has no offsets: %w", base.ErrBadInput)
	}
	if uint64(f.NumDocs()) > base.MaxDocs {
		return fmt.Errorf("reorder: %d documents, at most %d: %w", f.NumDocs(), uint64(base.MaxDocs), base.ErrBadInput)
	}
	if f.Offsets[0] != 0 || f.Offsets[len(f.Offsets)-1] != uint64(len(f.Terms)) {
		return fmt.Errorf("reorder: offsets do not span the %d postings: %w", len(f.Terms), base.ErrBadInput)
	}
	for d := range f.NumDocs() {
		if f.Offsets[d] > f.Offsets[d+1] {
			return fmt.Errorf("reorder: document %d: offsets fall: %w", d, base.ErrBadInput)
		}
	}
	for i, t := range f.Terms {
		if int64(t) >= int64(f.NumTerms) {
			return fmt.Errorf("reorder: posting %d: term %d of %d: %w", i, t, f.NumTerms, base.ErrBadInput)
		}
	}
	return nil
}

// LogGapCost returns the mean of log2(gap) over all postings when document
// order[i] gets DocID i: what the algorithm lowers, in bits a posting. The first
// posting of a list counts its distance from DocID -1. nil is the natural order.
func (f *Forward) LogGapCost(order []base.DocID) float64 {
	last := make([]int64, f.NumTerms)
	for i := range last {
		last[i] = -1
	}
	var sum float64
	for i := range f.NumDocs() {
		doc := uint32(i)
		if order != nil {
			doc = uint32(order[i])
		}
		for _, t := range f.Doc(doc) {
			sum += math.Log2(float64(int64(i) - last[t]))
			last[t] = int64(i)
		}
	}
	return sum / float64(max(len(f.Terms), 1))
}
