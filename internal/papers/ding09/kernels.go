package ding09

import (
	_ "embed" // the image
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
)

//go:embed image/ding09.ptx.zst
var image []byte

const (
	gridThreads = 256
	gridBlocks  = 1024 // of a grid, at most
)

// gridOf returns a grid for n elements, of which a thread can have several.
func gridOf(n int) cuda.Dim { return cuda.D1(min((n+gridThreads-1)/gridThreads, gridBlocks)) }

// Mirrors Ding09PositionsParams.
type positionsParams struct {
	positions, blocks, count  cuda.Ptr[uint32]
	maxCandidates, blockShift uint32
}

// Mirrors Ding09FallBackParams.
type fallBackParams struct {
	matches, blocks cuda.Ptr[uint32]
	enough, _       uint32
}

// Mirrors Ding09AddGlobalsParams.
type addGlobalsParams struct {
	matches, docIDs, count, globals cuda.Ptr[uint32]
	sums                            uint64
	enough, maxSums                 uint32
}

// kernels run on one device.
type kernels struct {
	decoders     *decode.Kernels
	intersector  *intersect.Intersector
	scorers      *scoring.Kernels
	selector     *selection.Selector
	module       *cuda.Module
	positionsOf  *cuda.Kernel
	fallBackFrom *cuda.Kernel

	addGlobals, addGlobalsWide *cuda.Kernel
}

func loadKernels(d *cuda.Device) (*kernels, error) {
	k := &kernels{decoders: decode.New(d)}
	if err := k.load(d); err != nil {
		return nil, errors.Join(fmt.Errorf("kernels of ding09: %w", err), k.close())
	}
	return k, nil
}

func (k *kernels) load(d *cuda.Device) (err error) {
	if k.intersector, err = intersect.New(d); err != nil {
		return err
	}
	// Parallel merge find searches each candidate among the blocks (§8.1), at any ratio of lengths.
	k.intersector.BlockCrossing = 1
	if k.scorers, err = scoring.New(d); err != nil {
		return err
	}
	if k.selector, err = selection.New(d); err != nil {
		return err
	}
	if k.module, err = d.LoadImage("ding09", image); err != nil {
		return err
	}
	if k.positionsOf, err = cuda.LoadKernel[positionsParams](k.module, "ding09_positions"); err != nil {
		return err
	}
	if k.fallBackFrom, err = cuda.LoadKernel[fallBackParams](k.module, "ding09_fall_back"); err != nil {
		return err
	}
	if k.addGlobals, err = cuda.LoadKernel[addGlobalsParams](k.module, "ding09_add_globals_narrow"); err != nil {
		return err
	}
	k.addGlobalsWide, err = cuda.LoadKernel[addGlobalsParams](k.module, "ding09_add_globals_wide")
	return err
}

// close unloads the kernels, which must not be running.
func (k *kernels) close() error {
	errs := []error{k.decoders.Close()}
	if k.intersector != nil {
		errs = append(errs, k.intersector.Close())
	}
	if k.scorers != nil {
		errs = append(errs, k.scorers.Close())
	}
	if k.selector != nil {
		errs = append(errs, k.selector.Close())
	}
	if k.module != nil {
		errs = append(errs, k.module.Unload())
	}
	return errors.Join(errs...)
}

// positions enqueues mapping the positions of candidates in decoded blocks to positions in the list.
func (k *kernels) positions(s *cuda.Stream, positions, blocks, count cuda.Buffer[uint32]) error {
	n := positions.Len()
	p := positionsParams{
		positions: positions.Ptr(), blocks: blocks.Ptr(), count: count.Ptr(), maxCandidates: uint32(n), blockShift: blockShift,
	}
	return cuda.Launch(s, k.positionsOf, gridOf(n), cuda.D1(gridThreads), 0, &p)
}

// fallBack enqueues the decision whether an OR follows: *blocks becomes 0 if there are enough matches.
func (k *kernels) fallBack(s *cuda.Stream, u scoring.Unless, blocks cuda.Buffer[uint32]) error {
	p := fallBackParams{matches: u.Matches.Ptr(), blocks: blocks.Ptr(), enough: u.Enough}
	return cuda.Launch(s, k.fallBackFrom, cuda.D1(1), cuda.D1(32), 0, &p)
}
