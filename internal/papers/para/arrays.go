package para

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/intersect"
)

// Array is an uncompressed list in device memory without the data of an intersect.View: one that was
// decoded there, or with local safe search ranges.
type Array struct {
	// The first NumPostings are the DocIDs, strictly ascending.
	DocIDs      cuda.Buffer[uint32]
	NumPostings int
	// For Options.Local: the parts of PartLen DocIDs each, the last one shorter.
	Parts   cuda.Buffer[Part]
	PartLen int
}

// Len returns the number of DocIDs.
func (a Array) Len() int { return a.NumPostings }

// Part is a part of a list with its own safe search range: ParaPart of para.cu.
type Part struct {
	Head        uint32 // its first DocID
	inverse     float32
	intercept   int64
	left, right int32
}

// noRange as a deviation means that the safe range is the whole part.
const noRange = 1<<31 - 1

// NewPart returns the part that begins with a DocID.
func NewPart(head uint32, r contraction.SafeRange) Part {
	if max(r.Left, r.Right, -r.Left, -r.Right) >= noRange {
		r.Left, r.Right = noRange, noRange
	}
	return Part{Head: head, inverse: 0x1p32 / float32(r.Slope), intercept: r.Intercept, left: int32(r.Left), right: int32(r.Right)}
}

// suits reports whether the list has the data that the options need.
func (a *Array) suits(o *Options) bool {
	switch {
	case a.NumPostings < 1 || a.NumPostings > a.DocIDs.Len():
		return false
	case o.Local:
		return a.PartLen > 0 && a.Parts.Len() == (a.NumPostings+a.PartLen-1)/a.PartLen
	}
	return o.Search == intersect.BinarySearch || o.Search == intersect.InterpolationSearch
}

// words returns the list as a ListView of device/list_search.cuh.
func (a *Array) words() [8]uint64 {
	return [8]uint64{
		0: uint64(a.DocIDs.Ptr()), 1: uint64(a.Parts.Ptr()),
		3: uint64(a.NumPostings), 4: uint64(a.PartLen) << 32, 5: uint64(a.Parts.Len()),
	}
}

// AddArrays is Add for Arrays, which are not empty.
func (b *Batch) AddArrays(lists ...Array) error {
	if len(lists) == 0 {
		return fmt.Errorf("para.Batch.AddArrays: no lists: %w", base.ErrBadInput)
	}
	for i := range lists {
		if !lists[i].suits(&b.options) {
			return fmt.Errorf("para.Batch.AddArrays: list %d of %d does not suit %s, local %t: %w", i, len(lists), b.options.Search, b.options.Local, base.ErrBadInput)
		}
	}
	return add(b, lists, func(c *content, a *Array) {
		w := a.words()
		c.lists = append(c.lists, w[:]...)
	})
}
