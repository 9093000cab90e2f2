package selection

import (
	"math/bits"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// heapLengths returns the lengths of the levels of maxima above n scores, the lowest
// first.
func heapLengths(n int) []int {
	var lengths []int
	for n > heapGroupLen {
		n = (n + heapGroupLen - 1) / heapGroupLen
		lengths = append(lengths, n)
	}
	return lengths
}

type heapLevelParams struct {
	source        Array
	below, maxima cuda.Ptr[uint64]
	numBelow, _   uint32
}

type heapExtractParams struct {
	source       Array
	levels       [heapMaxLevels]cuda.Ptr[uint64]
	out          cuda.Ptr[Key]
	lengths      [heapMaxLevels]uint32
	numLevels, k uint32
	_            uint32
}

func (s *Selector) heap(st *cuda.Stream, a Array, k int, out cuda.Buffer[Key], scratch *Scratch) error {
	extract := heapExtractParams{source: a, out: out.Ptr(), k: uint32(k)}
	level := heapLevelParams{source: a, numBelow: a.maxScores}
	for level.numBelow > heapGroupLen {
		l := extract.numLevels
		groups := (level.numBelow-1)/heapGroupLen + 1
		level.maxima = scratch.levels[l].Ptr()
		if err := cuda.Launch(st, s.heapLevel, cuda.D1(int(groups+heapGroups-1)/heapGroups), cuda.D1(heapThreads), 0, &level); err != nil {
			return err
		}
		extract.levels[l], extract.lengths[l] = level.maxima, groups
		extract.numLevels++
		level.below, level.numBelow = level.maxima, groups
	}
	return cuda.Launch(st, s.heapExtract, cuda.D1(1), cuda.D1(heapGroupLen), 0, &extract)
}

type bucketParams struct {
	source             Array
	state              cuda.Ptr[uint32]
	extremes, selected uint64 // addresses of keys, narrow or wide
	k, _               uint32
}

// bucketSelect is for keys of size bytes.
func (s *Selector) bucketSelect(st *cuda.Stream, kernels *bucketKernels, a Array, k int, out uint64, scratch *Scratch, size int) error {
	p := bucketParams{source: a, state: scratch.state.Ptr(), extremes: uint64(scratch.extremes.Ptr()), selected: out, k: uint32(k)}
	grid, block := cuda.D1(s.blocks(int(a.maxScores), bucketThreads, bucketBlocks)), cuda.D1(bucketThreads)
	if err := cuda.Launch(st, kernels.limits, grid, block, 0, &p); err != nil {
		return err
	}
	passes := bucketPasses
	if size == wideKeyBytes {
		passes = bucketPassesWide
	}
	for range passes {
		if err := cuda.Launch(st, kernels.count, grid, block, 0, &p); err != nil {
			return err
		}
	}
	if err := cuda.Launch(st, kernels.gather, grid, block, 0, &p); err != nil {
		return err
	}
	return cuda.Launch(st, kernels.sort, cuda.D1(1), block, size<<bits.Len(uint(k-1)), &p)
}

type radixParams struct {
	source                 Array
	keys                   [2]cuda.Ptr[uint64]
	counts                 cuda.Ptr[uint32]
	differing              cuda.Ptr[uint64]
	out                    cuda.Ptr[Key]
	digit, numBlocks, k, _ uint32
}

func (s *Selector) radixBlocks(n int) int { return s.blocks(n, radixTile, radixBlocks) }

func (s *Selector) radixSort(st *cuda.Stream, a Array, k int, out cuda.Buffer[Key], scratch *Scratch) error {
	blocks := s.radixBlocks(int(a.maxScores))
	p := radixParams{
		source: a, keys: [2]cuda.Ptr[uint64]{scratch.keys[0].Ptr(), scratch.keys[1].Ptr()}, counts: scratch.counts.Ptr(),
		differing: scratch.differing.Ptr(), out: out.Ptr(), numBlocks: uint32(blocks), k: uint32(k),
	}
	grid, block, one := cuda.D1(blocks), cuda.D1(radixThreads), cuda.D1(1)
	if err := cuda.Launch(st, s.radixKeys, grid, block, 0, &p); err != nil {
		return err
	}
	for p.digit = range radixDigits {
		if err := cuda.Launch(st, s.radixCount, grid, block, 0, &p); err != nil {
			return err
		}
		if err := cuda.Launch(st, s.radixScan, one, cuda.D1(radixScanThreads), 0, &p); err != nil {
			return err
		}
		if err := cuda.Launch(st, s.radixScatter, grid, block, 0, &p); err != nil {
			return err
		}
	}
	return cuda.Launch(st, s.radixFirst, one, block, 0, &p)
}
