package intersect

import (
	_ "embed" // the images
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/intersect_compact.ptx.zst
var compactImage []byte

//go:embed image/intersect_merge.ptx.zst
var mergeImage []byte

//go:embed image/intersect_find.ptx.zst
var findImage []byte

//go:embed image/intersect_blocks.ptx.zst
var blocksImage []byte

// Intersector has the kernels of this package on one device. It is safe for
// concurrent use, streams and Workspaces are not.
type Intersector struct {
	device  *cuda.Device
	maxGrid int
	modules []*cuda.Module

	// The ratio of lengths from which on Adaptive and All search an uncompressed
	// list, and IntersectBlocks and All a compressed list, instead of merging.
	// Both are at least 1 and may be set before the first call.
	Crossing, BlockCrossing int

	kernels struct {
		gather                                      *cuda.Kernel
		merges                                      [2]mergeKernels // small, large
		binary, pivots, find, probe, probeFew       *cuda.Kernel
		selectByElement, selectByBlock, probeBlocks *cuda.Kernel
	}
}

// New loads the kernels onto a device.
func New(d *cuda.Device) (*Intersector, error) {
	x := &Intersector{
		device: d, maxGrid: d.Info().Multiprocessors * tuning.blocksPerMultiprocessor,
		Crossing: DefaultCrossing, BlockCrossing: DefaultBlockCrossing,
	}
	k := &x.kernels
	l := loader{device: d}
	l.module("intersect_compact", compactImage)
	k.gather = load[gatherParams](&l, "intersect_gather")
	l.module("intersect_merge", mergeImage)
	for i, items := range []int{smallItems, largeItems} {
		k.merges[i] = mergeKernels{
			items:     items,
			partition: load[pairParams](&l, fmt.Sprintf("intersect_partition_%d", items)),
			merge:     load[pairParams](&l, fmt.Sprintf("intersect_merge_%d", items)),
			adaptive:  load[pairParams](&l, fmt.Sprintf("intersect_adaptive_%d", items)),
		}
	}
	l.module("intersect_find", findImage)
	k.binary = load[pairParams](&l, "intersect_binary")
	k.pivots = load[pivotsParams](&l, "intersect_pivots")
	k.find = load[pairParams](&l, "intersect_find")
	k.probe = load[pairParams](&l, "intersect_probe")
	k.probeFew = load[pairParams](&l, "intersect_probe_few")
	l.module("intersect_blocks", blocksImage)
	k.selectByElement = load[selectParams](&l, "intersect_select_by_element")
	k.selectByBlock = load[selectParams](&l, "intersect_select_by_block")
	k.probeBlocks = load[probeBlocksParams](&l, "intersect_probe_blocks")
	x.modules = l.modules
	if l.err != nil {
		return nil, errors.Join(fmt.Errorf("kernels of intersect: %w", l.err), x.Close())
	}
	return x, nil
}

// Close unloads the kernels, which must not be running.
func (x *Intersector) Close() error {
	var errs []error
	for _, m := range x.modules {
		errs = append(errs, m.Unload())
	}
	x.modules = nil
	return errors.Join(errs...)
}

type loader struct {
	device  *cuda.Device
	image   *cuda.Module
	modules []*cuda.Module // all loaded modules
	err     error
}

func (l *loader) module(name string, image []byte) {
	if l.err == nil {
		if l.image, l.err = l.device.LoadImage(name, image); l.err == nil {
			l.modules = append(l.modules, l.image)
		}
	}
}

func load[P any](l *loader, name string) *cuda.Kernel {
	if l.err != nil {
		return nil
	}
	k, err := cuda.LoadKernel[P](l.image, name)
	l.err = err
	return k
}

// grid returns one block per tile, up to the number that keeps the device busy.
func (x *Intersector) grid(numTiles int) cuda.Dim {
	return cuda.D1(max(1, min(numTiles, x.maxGrid)))
}
