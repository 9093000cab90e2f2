package ao11

import (
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/papers/para"
)

// localRanges divide a list into equal parts with a safe search range each (§4.3, "local safe range").
// The paper does not describe how to find the part. We use a binary search over the first elements.
type localRanges struct {
	heads []uint32 // first elements of the parts
	parts []contraction.SafeRange
	size  int // of a part
}

// newLocalRanges divides docIDs, not empty, into g >= 1 parts, or one per element if there are fewer.
func newLocalRanges(docIDs []uint32, g int) *localRanges {
	r := &localRanges{size: (len(docIDs) + g - 1) / g}
	for at := 0; at < len(docIDs); at += r.size {
		part := docIDs[at:min(at+r.size, len(docIDs))]
		r.heads = append(r.heads, part[0])
		r.parts = append(r.parts, contraction.NewSafeRange(part))
	}
	return r
}

// Range is like contraction.SafeRange.Range.
func (r *localRanges) Range(x uint32) (lo, hi int) {
	// The last part whose first element is not above x.
	i := contraction.Binary(r.heads, 0, len(r.heads), x)
	if i == len(r.heads) || r.heads[i] != x {
		if i--; i < 0 {
			return 0, 0
		}
	}
	lo, hi = r.parts[i].Range(x)
	return i*r.size + lo, i*r.size + hi
}

func (r *localRanges) sizeBytes() int64 { return 4*int64(len(r.heads)) + 40*int64(len(r.parts)) }

// forKernels returns the parts for a GPU.
func (r *localRanges) forKernels() []para.Part {
	parts := make([]para.Part, len(r.parts))
	for i, head := range r.heads {
		parts[i] = para.NewPart(head, r.parts[i])
	}
	return parts
}
