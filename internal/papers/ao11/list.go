package ao11

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/papers/lists"
	"github.com/griffin-search/griffin/internal/traverse"
)

var (
	listsOf  = lists.NewKind("lists of ao11")
	rangesOf = derived.NewKind[ranges]("search ranges of ao11")
)

// hostList is a list in host memory, read-only.
type hostList struct {
	*lists.List
	kept    derived.List
	numDocs int     // of the segment
	ranges  *ranges // nil if the search needs none
}

// docIDs returns the DocIDs of an uncompressed list.
func (l *hostList) docIDs() []uint32 { return l.Payload[:l.NumPostings] }

// listOf returns a leg's list, which is not empty, in the form. numDocs is of the segment. The error
// wraps base.ErrCorrupt if the list is damaged.
func (f *form) listOf(l *traverse.Leg, numDocs int) (hostList, error) {
	list, err := listsOf.Get(l.Derived, l.List, f.codec, f.number)
	if err != nil {
		return hostList{}, err
	}
	if last := list.Last(list.NumBlocks() - 1); uint64(last) >= uint64(numDocs) {
		return hostList{}, fmt.Errorf("DocID %d of %d documents: %w", last, numDocs, base.ErrCorrupt)
	}
	h := hostList{List: list, kept: l.Derived, numDocs: numDocs}
	if f.needsRanges() {
		h.ranges, err = rangesOf.Get(l.Derived, f.rangesKey(), func() (*ranges, int64, error) {
			return f.newRanges(list, uint64(numDocs))
		})
	}
	return h, err
}

// ranges contract the search in a list, as one of its fields.
type ranges struct {
	safe    contraction.SafeRange
	buckets *contraction.Buckets
	local   *localRanges
}

// needsRanges: Regression codecs store their own ranges, except if elements lack the list H.
func (f *form) needsRanges() bool {
	return f.code == uncompressed && (f.search == lr || f.search == hs) || f.noH
}

func (f *form) rangesKey() uint64 {
	return uint64(f.search) | uint64(f.bucket)<<8 | uint64(f.parts)<<24
}

func (f *form) newRanges(l *lists.List, universe uint64) (*ranges, int64, error) {
	docIDs, err := appendDocIDs(context.Background() /* other calls use the ranges, too */, nil, l)
	if err != nil {
		return nil, 0, err
	}
	r := new(ranges)
	size := int64(96)
	switch {
	case f.search == hs:
		r.buckets = contraction.NewBuckets(docIDs, universe, f.bucket)
		size += r.buckets.SizeBytes()
	case f.parts > 0:
		r.local = newLocalRanges(docIDs, f.parts)
		size += r.local.sizeBytes()
	default:
		r.safe = contraction.NewSafeRange(docIDs)
	}
	return r, size, nil
}

// appendDocIDs decodes a list, unless the context ends.
func appendDocIDs(ctx context.Context, dst []uint32, l *lists.List) ([]uint32, error) {
	var block [codec.BlockLen]uint32
	for i := range l.NumBlocks() {
		if i%(stride/codec.BlockLen) == 0 && ctx.Err() != nil {
			return dst, ctx.Err()
		}
		n, err := l.DecodeBlock(i, &block)
		if err != nil {
			return dst, err
		}
		dst = append(dst, block[:n]...)
	}
	return dst, nil
}
