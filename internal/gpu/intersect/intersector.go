package intersect

import (
	_ "embed" // the images
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/intersect_compact.ptx
var compactImage []byte

// Intersector is the kernels of this package on one device. It is safe for concurrent
// use; a stream and a Workspace are each used by one goroutine at a time.
type Intersector struct {
	device  *cuda.Device
	maxGrid int

	// Crossing is the ratio of lengths from which on Adaptive searches instead of
	// merging. It may be set before the first call.
	Crossing int

	kernels struct {
		gather *cuda.Kernel
	}
}

// New loads the kernels onto a device.
func New(d *cuda.Device) (*Intersector, error) {
	x := &Intersector{
		device: d, maxGrid: d.Info().Multiprocessors * tuning.blocksPerMultiprocessor,
		Crossing: DefaultCrossing,
	}
	k := &x.kernels
	l := loader{device: d}
	l.module("intersect_compact", compactImage)
	k.gather = load[gatherParams](&l, "intersect_gather")
	if l.err != nil {
		return nil, fmt.Errorf("kernels of intersect: %w", l.err)
	}
	return x, nil
}

// loader loads modules and kernels until one fails.
type loader struct {
	device *cuda.Device
	image  *cuda.Module
	err    error
}

// module loads the image that the next kernels are in.
func (l *loader) module(name string, image []byte) {
	if l.err == nil {
		l.image, l.err = l.device.LoadModule(name, image)
	}
}

// load returns the kernel of that name, whose parameters are a P.
func load[P any](l *loader, name string) *cuda.Kernel {
	if l.err != nil {
		return nil
	}
	k, err := cuda.LoadKernel[P](l.image, name)
	l.err = err
	return k
}

// grid returns the blocks to launch for a number of tiles: one each, at most as many
// as keep the device busy, since a block goes on to further tiles.
func (x *Intersector) grid(numTiles int) cuda.Dim {
	return cuda.D1(max(1, min(numTiles, x.maxGrid)))
}

// check returns an error if lists and candidates do not go together: out must have
// room for the shorter list, and for positions in numLists lists where it has any.
func check(call string, a, b List, numLists int, out Candidates) error {
	room := out.DocIDs.Len()
	switch {
	case a.bound()+b.bound() > MaxElements:
		return fmt.Errorf("intersect.%s: lists of %d and %d elements, together more than %d: %w", call, a.bound(), b.bound(), MaxElements, base.ErrBadInput)
	case room < min(a.bound(), b.bound()):
		return fmt.Errorf("intersect.%s: room for %d candidates of lists of %d and %d: %w", call, room, a.bound(), b.bound(), base.ErrBadInput)
	case out.Count.Len() != 1:
		return fmt.Errorf("intersect.%s: candidates without a count: %w", call, base.ErrBadInput)
	case !out.Positions.IsZero() && out.Positions.Len() < numLists*room:
		return fmt.Errorf("intersect.%s: room for %d positions of %d candidates in %d lists: %w", call, out.Positions.Len(), room, numLists, base.ErrBadInput)
	}
	return nil
}
