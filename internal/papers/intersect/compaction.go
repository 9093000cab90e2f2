package intersect

import (
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// As in compaction.cuh.
const (
	blockThreads = 256
	searchTile   = 1024 // elements of A and slots of a tile
	fewTile      = 32   // elements of A if 8 threads search each
)

// Mirrors IntersectSlots of compaction.cuh.
type slotsParams struct {
	first, second cuda.Ptr[uint32]
	counts        cuda.Ptr[uint32]
	groupSums     cuda.Ptr[uint32]
	control       cuda.Ptr[uint32]
	groupShift    uint32
	_             uint32
}

// Mirrors IntersectGatherParams of intersect_compact.cu.
type gatherParams struct {
	slots       slotsParams
	listA       cuda.Ptr[uint32]
	blocks      cuda.Ptr[uint32]
	prior       cuda.Ptr[uint32]
	docIDs      cuda.Ptr[uint32]
	positions   cuda.Ptr[uint32]
	count       cuda.Ptr[uint32]
	offsets     cuda.Ptr[uint32]
	length      cuda.Ptr[uint32]
	numPrior    uint32
	priorStride uint32
	stride      uint32
	blockShift  uint32
}

// slots returns the slots for at most numTiles search tiles, with room for
// positions in B if pairs is set, and enqueues clearing the sums of groups.
func (w *Workspace) slots(s *cuda.Stream, numTiles int, pairs bool) (slotsParams, error) {
	return w.slotsOf(s, numTiles, searchTile, pairs)
}

// slotsOf is slots for tiles of at most capacity matches.
func (w *Workspace) slotsOf(s *cuda.Stream, numTiles, capacity int, pairs bool) (slotsParams, error) {
	p, numGroups, err := w.unclearedSlots(numTiles, numTiles*capacity, pairs)
	if err != nil || numGroups == 0 {
		return p, err
	}
	return p, cuda.Fill(s, w.groupSums.Slice(0, numGroups), 0)
}

// unclearedSlots is slots for numSlots in total, without the clearing; it also
// returns the number of sums.
func (w *Workspace) unclearedSlots(numTiles, numSlots int, pairs bool) (p slotsParams, numGroups int, err error) {
	if err := w.holds(numTiles, numSlots); err != nil {
		return slotsParams{}, 0, err
	}
	p = slotsParams{first: w.first.Ptr(), counts: w.counts.Ptr(), control: w.control.Ptr()}
	if pairs {
		p.second = w.second.Ptr()
	}
	if numTiles <= tuning.ungroupedTiles {
		return p, 0, nil
	}
	shift := groupShift(numTiles)
	p.groupShift, p.groupSums = uint32(shift), w.groupSums.Ptr()
	return p, tilesOf(numTiles, 1<<shift), nil
}

// groupShift returns the log2 of the tiles per group: about the square root of
// the number of tiles.
func groupShift(numTiles int) int {
	shift := 0
	for 1<<(2*shift) < numTiles {
		shift++
	}
	return shift
}

// gather enqueues the second half of the compaction, of at most numTiles tiles.
func (x *Intersector) gather(s *cuda.Stream, numTiles int, p *gatherParams) error {
	return cuda.Launch(s, x.kernels.gather, x.grid(numTiles), cuda.D1(blockThreads), 0, p)
}
