package reorder

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Forward is a forward index in compressed sparse rows: document d has
// Terms[Offsets[d]:Offsets[d+1]], each below NumTerms, each once, in any order. Terms of a
// single document carry no information and are best omitted.
type Forward struct {
	Offsets  []uint64 // [NumDocs+1], non-decreasing, Offsets[0] == 0
	Terms    []uint32 // [Offsets[NumDocs]]
	NumTerms int
}

// NumDocs returns the number of documents.
func (f *Forward) NumDocs() int { return max(len(f.Offsets)-1, 0) }

// Doc returns a document's terms.
func (f *Forward) Doc(doc uint32) []uint32 {
	return f.Terms[f.Offsets[doc]:f.Offsets[doc+1]]
}

// Validate checks the shape and term numbers.
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
			return fmt.Errorf("reorder: document %d: offsets decrease: %w", d, base.ErrBadInput)
		}
	}
	for i, t := range f.Terms {
		if int64(t) >= int64(f.NumTerms) {
			return fmt.Errorf("reorder: posting %d: term %d of %d: %w", i, t, f.NumTerms, base.ErrBadInput)
		}
	}
	return nil
}
