package decode

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// PlanTiles is Plan with tiles of a given number of blocks, to find the best.
func PlanTiles(lists []List, tileBlocks int) Batch { return plan(lists, uint32(tileBlocks)) }

// Variant loads a kernel that is launched as those of the package are, and returns what
// launches it.
func Variant(m *cuda.Module, name string) (kernel *cuda.Kernel, launch func(s *cuda.Stream, lists cuda.Buffer[List], b Batch) error, err error) {
	if kernel, err = cuda.LoadKernel[params](m, name); err != nil {
		return nil, nil, err
	}
	return kernel, func(s *cuda.Stream, lists cuda.Buffer[List], b Batch) error {
		p := params{lists: lists.Ptr(), numLists: b.numLists, numTiles: b.numTiles, tileBlocks: b.tileBlocks}
		return cuda.Launch(s, kernel, cuda.D1(int((p.numTiles+warps-1)/warps)), cuda.D1(threads), 0, &p)
	}, nil
}
