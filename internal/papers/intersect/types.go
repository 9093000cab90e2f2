package intersect

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// List is the DocIDs of a posting list in device memory.
type List struct {
	// [n]uint32, strictly ascending, below base.NoDocID.
	DocIDs cuda.Buffer[uint32]
	// Zero if the list is all of DocIDs. Otherwise one number, at most
	// DocIDs.Len(), which kernels read when they run.
	Len cuda.Buffer[uint32]
}

// MaxElements limits the elements of the two lists of a call together.
const MaxElements = 1<<32 - 1<<16

// bound returns the maximum number of elements of the list.
func (l List) bound() int { return l.DocIDs.Len() }

// onDevice reports whether only the device knows the length.
func (l List) onDevice() bool { return !l.Len.IsZero() }

// Candidates are documents in device memory, with their positions in each
// source list, by which scoring finds frequencies.
type Candidates struct {
	// [capacity]uint32; the first Count are set, ascending.
	DocIDs cuda.Buffer[uint32]
	// [numLists][capacity]uint32: the posting index of each candidate in each
	// list. Zero: not computed.
	Positions cuda.Buffer[uint32]
	// One uint32.
	Count cuda.Buffer[uint32]
}

// NewCandidates allocates candidates of numLists lists, 0 for no positions, the
// shortest with at most capacity elements.
func NewCandidates(d *cuda.Device, numLists, capacity int) (Candidates, error) {
	var c Candidates
	var err error
	if c.DocIDs, err = cuda.Alloc[uint32](d, max(1, capacity)); err == nil {
		c.Count, err = cuda.Alloc[uint32](d, 1)
	}
	if err == nil && numLists > 0 {
		c.Positions, err = cuda.Alloc[uint32](d, numLists*max(1, capacity))
	}
	if err != nil {
		c.Free()
		return Candidates{}, fmt.Errorf("candidates of %d lists, at most %d: %w", numLists, capacity, err)
	}
	return c, nil
}

// Free frees the memory, which must not be in use.
func (c *Candidates) Free() {
	free(&c.DocIDs, &c.Positions, &c.Count)
	*c = Candidates{}
}

// List returns a list whose length only the device knows.
func (c Candidates) List() List { return List{DocIDs: c.DocIDs, Len: c.Count} }

// Row returns the positions in list l: [capacity]uint32.
func (c Candidates) Row(l int) cuda.Buffer[uint32] {
	n := c.DocIDs.Len()
	return c.Positions.Slice(l*n, (l+1)*n)
}
