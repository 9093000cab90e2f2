package selection

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

type topParams struct {
	source                                   Array
	warpMaxima, blockMaxima, bound, gathered cuda.Ptr[uint64]
	out                                      cuda.Ptr[Key]
	numGathered, numBlocks                   cuda.Ptr[uint32]
	k, _                                     uint32
}

func (s *Selector) topBlocks(n int) int { return s.blocks(n, topWarps*topChunk, topBlocks) }

// maxGathered bounds the number of keys that reach the bound of a selection of
// up to maxK of up to n scores. k groups have such keys; a group is a warp's
// stripe or, if k is small relative to the number of blocks, the stripes of a
// block.
func (s *Selector) maxGathered(n, maxK int) int {
	blocks := s.topBlocks(n)
	stripes := max(maxK, blocks/topCoarse*topWarps)
	chunks := (n-1)/(topChunk*topWarps*blocks) + 1
	return min(n, stripes*chunks*topChunk)
}

type oneParams struct {
	source Array
	out    cuda.Ptr[Key]
	k, _   uint32
}

func (s *Selector) top(st *cuda.Stream, a Array, k int, out cuda.Buffer[Key], scratch *Scratch) error {
	if a.maxScores <= topOneBlock {
		p := oneParams{source: a, out: out.Ptr(), k: uint32(k)}
		return cuda.Launch(st, s.one, cuda.D1(1), cuda.D1(topThreads), topSharedBytes, &p)
	}
	p := topParams{
		source: a, warpMaxima: scratch.warpMaxima.Ptr(), blockMaxima: scratch.blockMaxima.Ptr(), bound: scratch.bound.Ptr(),
		gathered: scratch.gathered.Ptr(), out: out.Ptr(), numGathered: scratch.numGathered.Ptr(), numBlocks: scratch.numBlocks.Ptr(), k: uint32(k),
	}
	grid, block := cuda.D1(s.topBlocks(int(a.maxScores))), cuda.D1(topThreads)
	if err := cuda.Launch(st, s.topMaxima, grid, block, topSharedBytes, &p); err != nil {
		return err
	}
	return cuda.Launch(st, s.topGather, grid, block, topSharedBytes, &p)
}

type arraysParams struct {
	sources cuda.Ptr[Array]
	out     cuda.Ptr[Key]
	k, _    uint32
}

// Arrays enqueues selecting from many arrays: out[a*k:][:k] are the best k, at
// most MaxK, of array a in descending order, padded with 0.
func (s *Selector) Arrays(st *cuda.Stream, arrays cuda.Buffer[Array], k int, out cuda.Buffer[Key]) error {
	if k < 0 || k > MaxK || out.Len() < arrays.Len()*k {
		return fmt.Errorf("k=%d of %d arrays to %d keys: %w", k, arrays.Len(), out.Len(), ErrShape)
	}
	if k == 0 || arrays.Len() == 0 {
		return nil
	}
	p := arraysParams{sources: arrays.Ptr(), out: out.Ptr(), k: uint32(k)}
	return cuda.Launch(st, s.arrays, cuda.D1(arrays.Len()), cuda.D1(topThreads), topSharedBytes, &p)
}
