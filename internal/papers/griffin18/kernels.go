package griffin18

import (
	_ "embed" // the image
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/lists"
)

//go:embed image/griffin18.ptx.zst
var image []byte

// As in griffin18.cu.
const (
	decodeThreads   = 128
	decodeWarps     = decodeThreads / 32
	positionThreads = 256
	// 16 blocks of 128 threads, or 8 of 256, are resident on a multiprocessor.
	blocksPerMultiprocessor = 16
)

// Mirrors Griffin18DecodeParams.
type decodeParams struct {
	payload, directory, selected, offsets, out cuda.Ptr[uint32]
	numPostings, numBlocks, payloadWords, _    uint32
}

// Mirrors Griffin18FollowParams.
type followParams struct {
	prior, pair, next                           cuda.Ptr[uint32]
	numCandidates, numPrior, stride, pairStride uint32
}

// Mirrors Griffin18CompactParams.
type compactParams struct {
	positions, numbers       cuda.Ptr[uint32]
	numCandidates, numBlocks uint32
}

// kernels are the kernels of this package on one device, safe for concurrent use.
type kernels struct {
	module                  *cuda.Module
	maxGrid                 int
	decode, follow, compact *cuda.Kernel
}

func loadKernels(d *cuda.Device) (*kernels, error) {
	m, err := d.LoadImage(name, image)
	if err != nil {
		return nil, fmt.Errorf("kernels of %s: %w", name, err)
	}
	k := &kernels{module: m, maxGrid: d.Info().Multiprocessors * blocksPerMultiprocessor}
	if k.decode, err = cuda.LoadKernel[decodeParams](m, "griffin18_decode"); err == nil {
		k.follow, err = cuda.LoadKernel[followParams](m, "griffin18_follow")
	}
	if err == nil {
		k.compact, err = cuda.LoadKernel[compactParams](m, "griffin18_compact")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("kernels of %s: %w", name, err), k.close())
	}
	return k, nil
}

// close unloads the kernels, which must not be running.
func (k *kernels) close() error { return k.module.Unload() }

// coded is a list, or some of its blocks, in device memory.
type coded struct {
	numPostings int                 // of the list
	payload     cuda.Buffer[uint32] // blocks of codec.EF{Plain: true}
	directory   cuda.Buffer[uint32] // of all blocks of the list: lists.List.Directory
	// Zero: payload has all blocks. Otherwise the numbers of its blocks, and the byte of each
	// in payload.
	numbers, offsets cuda.Buffer[uint32]
}

func (c *coded) numBlocks() int {
	if !c.numbers.IsZero() {
		return c.numbers.Len()
	}
	return (c.numPostings + codec.BlockLen - 1) / codec.BlockLen
}

// decodeEF enqueues Para-EF: value i of block s of c goes to out[codec.BlockLen*s+i].
func (k *kernels) decodeEF(s *cuda.Stream, c coded, out cuda.Buffer[uint32]) error {
	n := c.numBlocks()
	if n == 0 {
		return nil
	}
	if out.Len() < n*codec.BlockLen || c.directory.Len()*codec.BlockLen < c.numPostings*lists.EntryWords || c.numbers.Len() != c.offsets.Len() {
		return fmt.Errorf("%d blocks of %d words to %d: %w", n, c.payload.Len(), out.Len(), base.ErrBadInput)
	}
	p := decodeParams{
		payload: c.payload.Ptr(), directory: c.directory.Ptr(), selected: c.numbers.Ptr(), offsets: c.offsets.Ptr(), out: out.Ptr(),
		numPostings: uint32(c.numPostings), numBlocks: uint32(n), payloadWords: uint32(c.payload.Len()),
	}
	grid := min((n+decodeWarps-1)/decodeWarps, k.maxGrid)
	return cuda.Launch(s, k.decode, cuda.D1(grid), cuda.D1(decodeThreads), 0, &p)
}

// followPair enqueues setting next to the positions of candidates.
func (k *kernels) followPair(s *cuda.Stream, p followParams) error {
	if p.numCandidates == 0 {
		return nil
	}
	return cuda.Launch(s, k.follow, k.grid(p.numCandidates), cuda.D1(positionThreads), 0, &p)
}

// compactPositions enqueues replacing positions in a list by those in some of its blocks.
func (k *kernels) compactPositions(s *cuda.Stream, positions, numbers cuda.Buffer[uint32]) error {
	p := compactParams{
		positions: positions.Ptr(), numbers: numbers.Ptr(),
		numCandidates: uint32(positions.Len()), numBlocks: uint32(numbers.Len()),
	}
	return cuda.Launch(s, k.compact, k.grid(p.numCandidates), cuda.D1(positionThreads), 0, &p)
}

// grid has a thread for each candidate, up to the number that keeps the device busy.
func (k *kernels) grid(numCandidates uint32) cuda.Dim {
	return cuda.D1(min((int(numCandidates)+positionThreads-1)/positionThreads, k.maxGrid))
}
