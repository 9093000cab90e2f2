package intersect

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// List is the DocIDs of a posting list in device memory.
type List struct {
	// DocIDs: [n]uint32, strictly ascending, below base.NoDocID.
	DocIDs cuda.Buffer[uint32]
	// Len is zero if the list is all of DocIDs. Otherwise it is one number, at
	// most DocIDs.Len(), which kernels read when they run: later DocIDs are not
	// read.
	Len cuda.Buffer[uint32]
}

// MaxElements is the maximum total number of elements of the two lists of a
// call.
const MaxElements = 1<<32 - 1<<16

// bound returns the maximum length of the list.
func (l List) bound() int { return l.DocIDs.Len() }

// onDevice reports whether only the device knows the length.
func (l List) onDevice() bool { return !l.Len.IsZero() }

// Candidates are documents in device memory, with their positions in each
// source list, which scoring needs to find frequencies.
type Candidates struct {
	// DocIDs: [capacity]uint32; the first Count are set, ascending.
	DocIDs cuda.Buffer[uint32]
	// Positions: [numLists][capacity]uint32, row-major: the posting index of
	// each candidate in each list. If zero, positions are not computed.
	Positions cuda.Buffer[uint32]
	// Count: one uint32.
	Count cuda.Buffer[uint32]
}

// NewCandidates allocates candidates of numLists lists, the shortest with at
// most capacity elements. With numLists 0 there are no positions.
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

// List returns the candidates as a list whose length only the device knows.
func (c Candidates) List() List { return List{DocIDs: c.DocIDs, Len: c.Count} }

// Row returns the positions in list l: [capacity]uint32.
func (c Candidates) Row(l int) cuda.Buffer[uint32] {
	n := c.DocIDs.Len()
	return c.Positions.Slice(l*n, (l+1)*n)
}
