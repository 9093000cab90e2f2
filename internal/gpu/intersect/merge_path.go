package intersect

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// Elements of both lists that a thread merges: an odd number, so that threads that
// read shared memory at multiples of it hit different banks.
const (
	smallItems = 7
	largeItems = 15
)

// mergeTile returns the elements of both lists in a tile.
func mergeTile(items int) int { return items * blockThreads }

// mergeSlots returns how many matches a tile can have: one for each two elements.
func mergeSlots(items int) int { return (mergeTile(items) + 1) / 2 }

// mergeKernels are the kernels of one size of tile.
type mergeKernels struct {
	items                      int
	partition, merge, adaptive *cuda.Kernel
}

// MergePath intersects two lists by merging tiles of both that diagonals of their merge
// path cut (Liu, Wang and Swanson, PPoPP 2018, §3.1.2).
//
// out.DocIDs becomes the common DocIDs, rising, out.Count their number, and, where out
// has positions, row 0 their positions in A and row 1 those in B. out must have room
// for the shorter list, and must not be one of the lists; w must be made for lists as
// long. All is put into s in two or three launches, and nothing waits. The error is of
// the arguments (base.ErrBadInput) or of a launch.
//
// We differ: the diagonals of up to tuning.partitionTiles tiles are found by the tiles
// themselves, without a launch of their own.
func (x *Intersector) MergePath(s *cuda.Stream, w *Workspace, a, b List, out Candidates) error {
	return x.merge(s, w, &pair{call: "MergePath", a: a, b: b, out: out}, never)
}

// merge merges the pair, or, where that is decided on the device, searches it if the
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
