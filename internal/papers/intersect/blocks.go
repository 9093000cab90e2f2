package intersect

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Blocks is the directory of a list compressed in blocks.
type Blocks struct {
	// Ascending first DocIDs of the blocks, Stride words apart: [(n-1)*Stride + 1
	// or more]uint32.
	Firsts cuda.Buffer[uint32]
	Stride int
	// At least 1. All blocks have 1<<BlockShift elements, except the last.
	Len        int
	BlockShift int
	// Decode enqueues decoding the blocks sel.Numbers[:sel.Count], a count that
	// only the device knows. Block Numbers[i] goes to dst[i<<BlockShift:].
	Decode func(s *cuda.Stream, sel Selection, dst cuda.Buffer[uint32]) error
}

// NumBlocks returns the number of blocks.
func (b *Blocks) NumBlocks() int { return tilesOf(b.Len, 1<<b.BlockShift) }

// missing returns the number of elements that the last block lacks.
func (b *Blocks) missing() int { return b.NumBlocks()<<b.BlockShift - b.Len }

func (b *Blocks) check(call string, a List) error {
	switch {
	case b.Len <= 0 || b.Stride <= 0 || b.BlockShift < 0 || b.BlockShift > 16 || b.Firsts.Len() < (b.NumBlocks()-1)*b.Stride+1:
		return fmt.Errorf("intersect.%s: a directory of %d words, stride %d, for %d elements in blocks of 2^%d: %w", call, b.Firsts.Len(), b.Stride, b.Len, b.BlockShift, base.ErrBadInput)
	case a.bound()+b.NumBlocks()<<b.BlockShift > MaxElements:
		return fmt.Errorf("intersect.%s: lists of %d and %d elements, together more than %d: %w", call, a.bound(), b.Len, MaxElements, base.ErrBadInput)
	}
	return nil
}

// Selection is the blocks of a list that can contain elements of another list,
// in device memory.
type Selection struct {
	Numbers cuda.Buffer[uint32] // [capacity]; the first Count are set, ascending
	Count   cuda.Buffer[uint32] // one number
	Len     cuda.Buffer[uint32] // total elements of the selected blocks
}

// NewSelection allocates a selection of at most capacity blocks.
func NewSelection(d *cuda.Device, capacity int) (Selection, error) {
	var sel Selection
	var err error
	if sel.Numbers, err = cuda.Alloc[uint32](d, max(1, capacity)); err == nil {
		sel.Count, err = cuda.Alloc[uint32](d, 1)
	}
	if err == nil {
		sel.Len, err = cuda.Alloc[uint32](d, 1)
	}
	if err != nil {
		sel.Free()
		return Selection{}, fmt.Errorf("selection of at most %d blocks: %w", capacity, err)
	}
	return sel, nil
}

// Free frees the memory, which must not be in use.
func (sel *Selection) Free() {
	free(&sel.Numbers, &sel.Count, &sel.Len)
	*sel = Selection{}
}

// Mirrors IntersectSelectParams of intersect_blocks.cu.
type selectParams struct {
	slots        slotsParams
	listA        cuda.Ptr[uint32]
	lengthA      cuda.Ptr[uint32]
	firsts       cuda.Ptr[uint32]
	ranks        cuda.Ptr[uint32]
	numA         uint32
	numBlocks    uint32
	firstsStride uint32
	missing      uint32
}

// Mirrors IntersectProbeBlocksParams.
type probeBlocksParams struct {
	slots      slotsParams
	listA      cuda.Ptr[uint32]
	lengthA    cuda.Ptr[uint32]
	ranks      cuda.Ptr[uint32]
	offsets    cuda.Ptr[uint32]
	blocks     cuda.Ptr[uint32]
	decoded    cuda.Ptr[uint32]
	numA       uint32
	numBlocks  uint32
	missing    uint32
	blockShift uint32
}

// byElement reports whether each element of A is searched among the blocks and
// then in its own; otherwise each block is searched in A, and the result is
// merged.
func (x *Intersector) byElement(a List, b *Blocks) bool { return b.Len >= x.BlockCrossing*a.bound() }

// SelectBlocks selects the blocks of b that can contain elements of a: a has an
// element from the block's first DocID up to the next block's (Ding et al., WWW
// 2009, §8.1; PPoPP 2018, §3.1.2). sel must have room for the number of blocks
// or of elements of a, whichever is smaller. It enqueues two launches. The
// error is of the arguments (base.ErrBadInput) or of a launch.
//
// We differ: if a has at least about the number of elements that b has blocks,
// blocks are searched in a (BlockCrossing).
func (x *Intersector) SelectBlocks(s *cuda.Stream, w *Workspace, a List, b *Blocks, sel Selection) error {
	if err := b.check("SelectBlocks", a); err != nil {
		return err
	}
	numBlocks := b.NumBlocks()
	if room := min(a.bound(), numBlocks); sel.Numbers.Len() < room || sel.Count.Len() != 1 || sel.Len.Len() != 1 {
		return fmt.Errorf("intersect.SelectBlocks: a selection with room for %d of %d blocks: %w", sel.Numbers.Len(), room, base.ErrBadInput)
	}
	kernel, numTiles := x.kernels.selectByBlock, tilesOf(numBlocks, searchTile)
	if x.byElement(a, b) {
		kernel, numTiles = x.kernels.selectByElement, tilesOf(a.bound(), searchTile)
		if a.bound() > w.ranks.Len() {
			return w.tooSmall(fmt.Sprintf("the blocks of %d elements", a.bound()))
		}
	}
	slots, err := w.slots(s, numTiles, false /* pairs */)
	if err != nil {
		return err
	}
	params := selectParams{
		slots: slots,
		listA: a.DocIDs.Ptr(), lengthA: a.Len.Ptr(), numA: uint32(a.bound()),
		firsts: b.Firsts.Ptr(), firstsStride: uint32(b.Stride), numBlocks: uint32(numBlocks), missing: uint32(b.missing()),
		ranks: w.ranks.Ptr(),
	}
	if err := cuda.Launch(s, kernel, x.grid(numTiles), cuda.D1(blockThreads), 0, &params); err != nil {
		return err
	}
	return x.gather(s, numTiles, &gatherParams{
		slots: slots, docIDs: sel.Numbers.Ptr(), count: sel.Count.Ptr(), length: sel.Len.Ptr(), offsets: w.offsets.Ptr(),
		blockShift: uint32(b.BlockShift),
	})
}

// IntersectBlocks intersects a with a compressed list: it decodes the blocks
// that can contain elements of a to decoded, which must have room for
// DecodedRoom(a, b). Then it searches each element in its block if b has at
// least x.BlockCrossing times the elements of a; otherwise MergePath merges a
// and the decoded elements. Positions refer to b itself. Out, errors and the
// stream rule are as for MergePath.
func (x *Intersector) IntersectBlocks(s *cuda.Stream, w *Workspace, a List, b *Blocks, sel Selection, decoded cuda.Buffer[uint32], out Candidates) error {
	return x.intersectBlocks(s, w, &pair{call: "IntersectBlocks", a: a, out: out}, b, sel, decoded)
}

// DecodedRoom bounds the number of elements in the blocks of b that a selects.
func DecodedRoom(a List, b *Blocks) int { return min(a.bound(), b.NumBlocks()) << b.BlockShift }

func (x *Intersector) intersectBlocks(s *cuda.Stream, w *Workspace, p *pair, b *Blocks, sel Selection, decoded cuda.Buffer[uint32]) error {
	if err := x.SelectBlocks(s, w, p.a, b, sel); err != nil {
		return err
	}
	room := DecodedRoom(p.a, b)
	if decoded.Len() < room {
		return fmt.Errorf("intersect.%s: room for %d of %d decoded elements: %w", p.call, decoded.Len(), room, base.ErrBadInput)
	}
	if err := b.Decode(s, sel, decoded); err != nil {
		return err
	}
	p.b = List{DocIDs: decoded.Slice(0, min(room, b.Len)), Len: sel.Len}
	p.selected, p.blockShift = sel.Numbers, b.BlockShift
	if !x.byElement(p.a, b) {
		return x.merge(s, w, p, never)
	}
	if err := p.check(); err != nil {
		return err
	}
	numTiles := tilesOf(p.a.bound(), searchTile)
	slots, err := w.slots(s, numTiles, p.wantsPositions())
	if err != nil {
		return err
	}
	params := probeBlocksParams{
		slots: slots,
		listA: p.a.DocIDs.Ptr(), lengthA: p.a.Len.Ptr(), numA: uint32(p.a.bound()),
		ranks: w.ranks.Ptr(), offsets: w.offsets.Ptr(), blocks: sel.Numbers.Ptr(), decoded: decoded.Ptr(),
		numBlocks: uint32(b.NumBlocks()), missing: uint32(b.missing()), blockShift: uint32(b.BlockShift),
	}
	if err := cuda.Launch(s, x.kernels.probeBlocks, x.grid(numTiles), cuda.D1(blockThreads), 0, &params); err != nil {
		return err
	}
	g := p.gathered(slots)
	return x.gather(s, numTiles, &g)
}
