package intersect

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// Elements of both lists per thread: odd, so that threads access different
// banks of shared memory.
const (
	smallItems = 7
	largeItems = 15
)

func mergeTile(items int) int { return items * blockThreads }

// mergeSlots returns the maximum number of matches of a tile: one per two
// elements.
func mergeSlots(items int) int { return (mergeTile(items) + 1) / 2 }

type mergeKernels struct {
	items                      int
	partition, merge, adaptive *cuda.Kernel
}

// MergePath intersects two lists by merging tiles, cut by diagonals of the
// merge path (Liu, Wang and Swanson, PPoPP 2018, §3.1.2).
//
// out.DocIDs becomes the common DocIDs, ascending, and out.Count their number;
// rows 0 and 1 of its positions, if any, those in A and B. out must have room
// for the shorter list, and must not be one of the lists; w must be large
// enough. It enqueues two or three launches. The error is of the arguments
// (base.ErrBadInput) or of a launch.
//
// We differ: up to tuning.partitionTiles tiles find their diagonals without a
// separate launch.
func (x *Intersector) MergePath(s *cuda.Stream, w *Workspace, a, b List, out Candidates) error {
	return x.merge(s, w, &pair{call: "MergePath", a: a, b: b, out: out}, never)
}

// merge merges the pair or, if the device decides, searches it if the lengths
// differ by crossing.
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
