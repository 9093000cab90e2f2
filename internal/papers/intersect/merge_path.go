package intersect

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// Elements of both lists per thread: an odd number, so that threads that read
// shared memory at multiples of it access different banks.
const (
	smallItems = 7
	largeItems = 15
)

// mergeTile returns the number of elements of both lists per tile.
func mergeTile(items int) int { return items * blockThreads }

// mergeSlots returns the maximum number of matches of a tile: one per two
// elements.
func mergeSlots(items int) int { return (mergeTile(items) + 1) / 2 }

// mergeKernels are the kernels of one tile size.
type mergeKernels struct {
	items                      int
	partition, merge, adaptive *cuda.Kernel
}

// MergePath intersects two lists by merging tiles, cut by diagonals of the
// merge path (Liu, Wang and Swanson, PPoPP 2018, §3.1.2).
//
// out.DocIDs becomes the common DocIDs, ascending, and out.Count their number.
// If out has positions, row 0 becomes their positions in A and row 1 in B. out
// must have room for the shorter list, and must not be one of the lists; w must
// be large enough for the lists. It enqueues two or three launches and does not
// wait. The error is of the arguments (base.ErrBadInput) or of a launch.
//
// We differ: up to tuning.partitionTiles tiles find their diagonals themselves,
// without a separate launch.
func (x *Intersector) MergePath(s *cuda.Stream, w *Workspace, a, b List, out Candidates) error {
	return x.merge(s, w, &pair{call: "MergePath", a: a, b: b, out: out}, never)
}

// merge merges the pair. If the device decides, it searches the pair if the
// lengths differ by crossing or more.
func (x *Intersector) merge(s *cuda.Stream, w *Workspace, p *pair, crossing int) error {
	if err := p.check(); err != nil {
		return err
	}
	n := p.a.bound() + p.b.bound()
	k := &x.kernels.merges[0]
	if n > tuning.smallMerge {
		k = &x.kernels.merges[1]
	}
	numTiles := tilesOf(n, mergeTile(k.items))
	bound, numSlots, kernel := numTiles, numTiles*mergeSlots(k.items), k.merge
	if crossing != never {
		searches := tilesOf(p.a.bound(), searchTile)
		bound, numSlots, kernel = max(bound, searches), max(numSlots, searches*searchTile), k.adaptive
	}
	slots, numGroups, err := w.unclearedSlots(bound, numSlots, p.wantsPositions())
	if err != nil {
		return err
	}
	params := p.params(slots)
	params.crossing = uint32(crossing)
	switch {
	case numTiles > tuning.partitionTiles:
		params.bounds, params.numGroups = w.bounds.Ptr(), uint32(numGroups)
		err = cuda.Launch(s, k.partition, x.grid(tilesOf(numTiles+1, blockThreads/32)), cuda.D1(blockThreads), 0, &params)
	case numGroups > 0:
		err = cuda.Fill(s, w.groupSums.Slice(0, numGroups), 0)
	}
	if err != nil {
		return err
	}
	if err := cuda.Launch(s, kernel, x.grid(bound), cuda.D1(blockThreads), 0, &params); err != nil {
		return err
	}
	g := p.gathered(slots)
	return x.gather(s, bound, &g)
}
