package decode

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// PlanTiles is Plan with given tiles, for tuning.
func PlanTiles(lists []List, tileBlocks int) Batch { return plan(lists, uint32(tileBlocks)) }

// Variant loads a kernel with this package's parameters, and returns it and a
// function that launches it.
func Variant(m *cuda.Module, name string) (kernel *cuda.Kernel, launch func(s *cuda.Stream, lists cuda.Buffer[List], b Batch) error, err error) {
	if kernel, err = cuda.LoadKernel[params](m, name); err != nil {
		return nil, nil, err
	}
	return kernel, func(s *cuda.Stream, lists cuda.Buffer[List], b Batch) error {
		p := params{lists: lists.Ptr(), numLists: b.numLists, numTiles: b.numTiles, tileBlocks: b.tileBlocks}
		return cuda.Launch(s, kernel, cuda.D1(int((p.numTiles+warps-1)/warps)), cuda.D1(threads), 0, &p)
	}, nil
}

const EFTileBlocks = efTileBlocks

func EvenTiles(blocks uint32) (numTiles, tileBlocks, longerTiles uint32) { return evenTiles(blocks) }

// DecodeTiles is DecodeList for Para-EF with at most most tiles.
func (k *Kernels) DecodeTiles(s *cuda.Stream, w What, l List, most int) error {
	return k.launch(s, Codec{kind: kindEF}, w, single(l, uint32(most)))
}

// SingleVariant is Variant for single lists, in at most the given number of
// tiles.
func SingleVariant(m *cuda.Module, name string) (kernel *cuda.Kernel, launch func(s *cuda.Stream, l List, most int) error, err error) {
	if kernel, err = cuda.LoadKernel[params](m, name); err != nil {
		return nil, nil, err
	}
	return kernel, func(s *cuda.Stream, l List, most int) error {
		p := single(l, uint32(most))
		return cuda.Launch(s, kernel, cuda.D1(int((p.numTiles+warps-1)/warps)), cuda.D1(threads), 0, &p)
	}, nil
}

func single(l List, most uint32) params {
	p := params{single: l, numLists: 1}
	p.numTiles, p.tileBlocks, p.longerTiles = even(l.numBlocks, most)
	return p
}
