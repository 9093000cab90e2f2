package intersect

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Workspace is device memory for calls of an Intersector on one stream at a
// time, which may follow each other without waiting.
type Workspace struct {
	shortest, longest int
	tiles             int

	first, second cuda.Buffer[uint32] // slots
	counts        cuda.Buffer[uint32] // [tiles]
	groupSums     cuda.Buffer[uint32]
	control       cuda.Buffer[uint32]
	bounds        cuda.Buffer[uint32] // [tiles+1] for a merge: where diagonals cross A
	pivots        cuda.Buffer[uint32] // ranks of splitters, level by level
	ranks         cuda.Buffer[uint32] // [shortest] index in the tile of the selected block, by element of A
	offsets       cuda.Buffer[uint32] // [tiles] selected blocks before each tile
}

// controlWords is the number of words that kernels pass to later kernels.
const controlWords = 4

// NewWorkspace is for pairs of lists, the shorter with at most shortest
// elements and the longer with at most longest.
func NewWorkspace(d *cuda.Device, shortest, longest int) (*Workspace, error) {
	if shortest < 0 || longest < shortest || shortest+longest > MaxElements {
		return nil, fmt.Errorf("workspace for lists of %d and %d elements: %w", shortest, longest, base.ErrBadInput)
	}
	both := shortest + longest
	w := &Workspace{
		shortest: shortest, longest: longest,
		tiles: max(1, tilesOf(both, mergeTile(smallItems)), tilesOf(longest, searchTile), tilesOf(min(shortest, tuning.fewElements), fewTile)),
	}
	slots := max(w.tiles*mergeSlots(smallItems), tilesOf(both, mergeTile(largeItems))*mergeSlots(largeItems),
		tilesOf(shortest, searchTile)*searchTile, tilesOf(longest/2+1, searchTile)*searchTile)
	for _, b := range []struct {
		buffer *cuda.Buffer[uint32]
		n      int
	}{
		{&w.first, slots},
		{&w.second, slots},
		{&w.counts, w.tiles},
		{&w.groupSums, w.tiles},
		{&w.control, controlWords},
		{&w.bounds, w.tiles + 1},
		{&w.pivots, pivotsOf(shortest)},
		{&w.ranks, max(1, shortest)},
		{&w.offsets, w.tiles},
	} {
		var err error
		if *b.buffer, err = cuda.Alloc[uint32](d, b.n); err != nil {
			w.Free()
			return nil, fmt.Errorf("workspace for lists of %d and %d elements: %w", shortest, longest, err)
		}
	}
	return w, nil
}

// Free frees the memory, which must not be in use.
func (w *Workspace) Free() {
	free(&w.first, &w.second, &w.counts, &w.groupSums, &w.control, &w.bounds, &w.pivots, &w.ranks, &w.offsets)
	*w = Workspace{}
}

// free fails only on a failed device, whose memory is lost anyway.
func free(buffers ...*cuda.Buffer[uint32]) {
	for _, b := range buffers {
		_ = b.Free()
		*b = cuda.Buffer[uint32]{}
	}
}

// holds returns an error if the workspace is too small for a call.
func (w *Workspace) holds(tiles, slots int) error {
	if tiles > w.tiles || slots > w.first.Len() {
		return w.tooSmall(fmt.Sprintf("%d tiles of %d slots in all", tiles, slots))
	}
	return nil
}

func (w *Workspace) tooSmall(need string) error {
	return fmt.Errorf("workspace for lists of %d and %d elements: too small for %s: %w", w.shortest, w.longest, need, base.ErrBadInput)
}

func tilesOf(n, size int) int { return (n + size - 1) / size }
