package intersect

import (
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// MaxLevels bounds the levels of splitters.
const MaxLevels = 4

const binaryThreads = 1024

// Mirrors IntersectPivotsParams of intersect_find.cu.
type pivotsParams struct {
	listA, listB         cuda.Ptr[uint32]
	lengthA, lengthB     cuda.Ptr[uint32]
	parents, ranks       cuda.Ptr[uint32]
	numA, numB           uint32
	stride, parentStride uint32
}

// Find is the parallel merge find of Ding et al. (WWW 2009, §7.1). It sets
// ranks[i] to the position of the first element of B that is not below element
// i of A, or to the length of B. Levels of splitters, 0 to MaxLevels, cut A; 0
// is a binary search in all of B. ranks must have room for A. It enqueues
// 1+levels launches. The error is of the arguments (base.ErrBadInput) or of a
// launch.
func (x *Intersector) Find(s *cuda.Stream, w *Workspace, levels int, a, b List, ranks cuda.Buffer[uint32]) error {
	p := &pair{call: "Find", a: a, b: b}
	switch {
	case levels < 0 || levels > MaxLevels:
		return fmt.Errorf("intersect.Find: %d levels: %w", levels, base.ErrBadInput)
	case a.bound()+b.bound() > MaxElements:
		return fmt.Errorf("intersect.Find: lists of %d and %d elements, together more than %d: %w", a.bound(), b.bound(), MaxElements, base.ErrBadInput)
	case ranks.Len() < a.bound():
		return fmt.Errorf("intersect.Find: room for %d ranks of %d elements: %w", ranks.Len(), a.bound(), base.ErrBadInput)
	case a.bound() == 0:
		return nil
	}
	numTiles := tilesOf(a.bound(), searchTile)
	params := p.params(slotsParams{})
	params.ranks = ranks.Ptr()
	if levels == 0 {
		return cuda.Launch(s, x.kernels.binary, x.grid(numTiles), cuda.D1(binaryThreads), 0, &params)
	}
	var err error
	if params.parents, err = x.split(s, w, levels, p); err != nil {
		return err
	}
	return cuda.Launch(s, x.kernels.find, x.grid(numTiles), cuda.D1(blockThreads), 0, &params)
}

// MergeFind intersects two lists by Find (Ding et al., WWW 2009, §7.2). Out,
// errors and the stream rule are as for MergePath, with 2+levels launches.
func (x *Intersector) MergeFind(s *cuda.Stream, w *Workspace, levels int, a, b List, out Candidates) error {
	p := &pair{call: "MergeFind", a: a, b: b, out: out}
	if levels < 0 || levels > MaxLevels {
		return fmt.Errorf("intersect.MergeFind: %d levels: %w", levels, base.ErrBadInput)
	}
	if levels == 0 {
		return x.search(s, w, p, x.kernels.binary, binaryThreads, searchTile)
	}
	if err := p.check(); err != nil {
		return err
	}
	numTiles := tilesOf(a.bound(), searchTile)
	slots, err := w.slots(s, numTiles, p.wantsPositions())
	if err != nil {
		return err
	}
	params := p.params(slots)
	if params.parents, err = x.split(s, w, levels, p); err != nil {
		return err
	}
	if err := cuda.Launch(s, x.kernels.find, x.grid(numTiles), cuda.D1(blockThreads), 0, &params); err != nil {
		return err
	}
	g := p.gathered(slots)
	return x.gather(s, numTiles, &g)
}

// split finds the splitters of A in B, and returns the ranks of the first
// element of each search tile.
func (x *Intersector) split(s *cuda.Stream, w *Workspace, levels int, p *pair) (cuda.Ptr[uint32], error) {
	params := pivotsParams{
		listA: p.a.DocIDs.Ptr(), listB: p.b.DocIDs.Ptr(), lengthA: p.a.Len.Ptr(), lengthB: p.b.Len.Ptr(),
		numA: uint32(p.a.bound()), numB: uint32(p.b.bound()),
	}
	from := 0
	all := strides(p.a.bound(), levels)
	for _, stride := range all[:levels] {
		numPivots := tilesOf(p.a.bound(), stride)
		if numPivots == 0 {
			return w.pivots.Ptr(), nil
		}
		if from+numPivots > w.pivots.Len() {
			return 0, w.tooSmall(fmt.Sprintf("splitters of %d elements", p.a.bound()))
		}
		params.parents, params.parentStride = params.ranks, params.stride
		params.ranks, params.stride = w.pivots.Slice(from, from+numPivots).Ptr(), uint32(stride)
		if err := cuda.Launch(s, x.kernels.pivots, x.grid(tilesOf(numPivots, blockThreads)), cuda.D1(blockThreads), 0, &params); err != nil {
			return 0, err
		}
		from += numPivots
	}
	return params.ranks, nil
}

// strides returns the distance of splitters for each level, the last of which
// is a search tile; the number of splitters grows by the same factor from level
// to level.
func strides(n, levels int) (out [MaxLevels]int) {
	numPivots := tilesOf(n, searchTile)
	factor := 1 << ((bits.Len(uint(max(1, numPivots)-1)) + levels - 1) / levels)
	stride := searchTile
	for l := levels - 1; l >= 0; l-- {
		out[l] = stride
		stride *= factor
	}
	return out
}

// pivotsOf returns the memory for the splitters of all levels: each level has one, or
// at least twice the number of the previous level.
func pivotsOf(n int) int { return 2*(n/searchTile+1) + 2*MaxLevels }
