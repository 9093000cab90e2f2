package intersect

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Operand is a list of a conjunction.
type Operand struct {
	List   List
	Blocks *Blocks // nil: use List
}

func (o *Operand) bound() int {
	if o.Blocks != nil {
		return o.Blocks.Len
	}
	return o.List.bound()
}

// Chain is the device memory for conjunctions of several lists, for one stream
// at a time.
type Chain struct {
	workspace    *Workspace
	intermediate [2]Candidates
	selection    Selection
	decoded      cuda.Buffer[uint32]
	numLists     int
	shortest     int
}

// NewChain allocates memory for at most numLists lists, the shortest with at
// most shortest elements and the longest with at most longest, in blocks of at
// most 1<<blockShift elements.
func NewChain(d *cuda.Device, numLists, shortest, longest, blockShift int) (*Chain, error) {
	c := &Chain{numLists: numLists, shortest: shortest}
	var err error
	if c.workspace, err = NewWorkspace(d, shortest, longest); err != nil {
		return nil, err
	}
	for i := range c.intermediate {
		if err == nil {
			c.intermediate[i], err = NewCandidates(d, max(2, numLists-1), shortest)
		}
	}
	if err == nil { // smaller blocks are more numerous
		c.selection, err = NewSelection(d, min(shortest, longest))
	}
	if err == nil {
		c.decoded, err = cuda.Alloc[uint32](d, max(1, min(shortest, tilesOf(longest, 1<<blockShift))<<blockShift))
	}
	if err != nil {
		c.Free()
		return nil, fmt.Errorf("chain of %d lists: %w", numLists, err)
	}
	return c, nil
}

// Free frees the memory, which must not be in use.
func (c *Chain) Free() {
	if c.workspace != nil {
		c.workspace.Free()
	}
	for i := range c.intermediate {
		c.intermediate[i].Free()
	}
	c.selection.Free()
	free(&c.decoded)
	*c = Chain{}
}

// All intersects two or more lists, small versus small: the first, which must
// not be compressed, with the second, the result with the third, and so on. The
// caller orders them by length, the shortest first (Ding et al., WWW 2009,
// §7.2). Row l of the positions of out becomes the positions in list l.
//
// Nothing returns to the host in between: later launches read the number of
// candidates in device memory. Grids are for the length of the shortest list.
// For an uncompressed list, the device chooses between merge and search by the
// actual lengths; for a compressed list, the host chooses by the lengths that
// it knows.
func (x *Intersector) All(s *cuda.Stream, c *Chain, lists []Operand, out Candidates) error {
	if len(lists) < 2 || len(lists) > c.numLists || lists[0].Blocks != nil || lists[0].bound() > c.shortest {
		return fmt.Errorf("intersect.All: %d lists, the first not compressed and of at most %d elements: %w", len(lists), c.shortest, base.ErrBadInput)
	}
	p := pair{call: "All", a: lists[0].List}
	for l := 1; l < len(lists); l++ {
		p.out = out
		if l < len(lists)-1 {
			p.out = c.intermediate[l%2].cut(lists[0].bound(), out.Positions.IsZero())
		}
		var err error
		if o := &lists[l]; o.Blocks != nil {
			err = x.intersectBlocks(s, c.workspace, &p, o.Blocks, c.selection, c.decoded)
		} else {
			p.b, p.selected = o.List, cuda.Buffer[uint32]{}
			err = x.adaptive(s, c.workspace, &p)
		}
		if err != nil {
			return fmt.Errorf("list %d: %w", l, err)
		}
		p.a, p.prior, p.numPrior = p.out.List(), p.out, l+1
	}
	return nil
}

// cut returns candidates in the same memory, with room for n; bare: without
// positions.
func (c Candidates) cut(n int, bare bool) Candidates {
	c.DocIDs = c.DocIDs.Slice(0, n)
	if bare {
		c.Positions = cuda.Buffer[uint32]{}
	}
	return c
}
