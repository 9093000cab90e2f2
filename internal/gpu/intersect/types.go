package intersect

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// List is a posting list's DocIDs in device memory.
type List struct {
	// DocIDs: [n]uint32, strictly rising, below base.NoDocID.
	DocIDs cuda.Buffer[uint32]
	// Len is zero if the list has all of DocIDs. Otherwise it is one number, at most
	// DocIDs.Len(), which kernels read when they run: DocIDs beyond it are not read.
	Len cuda.Buffer[uint32]
}

// MaxElements is the most elements that the two lists of a call may have together.
const MaxElements = 1<<32 - 1<<16

// bound returns the most elements that the list can have.
func (l List) bound() int { return l.DocIDs.Len() }

// onDevice says that only the device knows the length.
func (l List) onDevice() bool { return !l.Len.IsZero() }

// Candidates are documents in device memory with where they stand in each list that
// they came from: what scoring needs to find frequencies.
type Candidates struct {
	// DocIDs: [capacity]uint32, of which the first Count are set, rising.
	DocIDs cuda.Buffer[uint32]
	// Positions: [numLists][capacity]uint32, row-major: the posting index of each
	// candidate in each list. It may be zero: positions are then not found.
	Positions cuda.Buffer[uint32]
	// Count: one uint32.
	Count cuda.Buffer[uint32]
}

// NewCandidates allocates candidates of numLists lists, the shortest of which has at
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

// Free frees the memory, which nothing may use any more.
func (c *Candidates) Free() {
	free(&c.DocIDs, &c.Positions, &c.Count)
	*c = Candidates{}
}

// List returns the candidates as a list whose length the device knows.
func (c Candidates) List() List { return List{DocIDs: c.DocIDs, Len: c.Count} }

// Row returns the positions in list l: [capacity]uint32.
func (c Candidates) Row(l int) cuda.Buffer[uint32] {
	n := c.DocIDs.Len()
	return c.Positions.Slice(l*n, (l+1)*n)
}
