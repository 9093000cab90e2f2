package para

import (
	_ "embed" // the image
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/intersect"
)

//go:embed image/para.ptx.zst
var image []byte

// As in para.cu.
const (
	blockThreads = 256
	blockWarps   = 8
	tileElements = 128
	blockSlots   = blockWarps * tileElements
)

// Mirrors ParaSearchParams of para.cu.
type searchParams struct {
	lists       cuda.Ptr[uint64]
	queries     cuda.Ptr[uint64]
	tiles       cuda.Ptr[uint64]
	slots       cuda.Ptr[uint32]
	tileBefore  cuda.Ptr[uint32]
	blockBefore cuda.Ptr[uint32]
	ticket      cuda.Ptr[uint32]
	numTiles    uint32
	_           uint32
}

// Mirrors ParaGatherParams.
type gatherParams struct {
	queries     cuda.Ptr[uint64]
	slots       cuda.Ptr[uint32]
	tileBefore  cuda.Ptr[uint32]
	blockBefore cuda.Ptr[uint32]
	starts      cuda.Ptr[uint32]
	docIDs      cuda.Ptr[uint32]
	numQueries  uint32
	numTiles    uint32
	numBlocks   uint32
	_           uint32
}

// Kernels are the kernels of this package on one device. Safe for concurrent
// use.
type Kernels struct {
	device *cuda.Device
	module *cuda.Module
	search [intersect.NumSearches]*cuda.Kernel
	local  *cuda.Kernel                        // of Options.Local
	noH    [intersect.NumSearches]*cuda.Kernel // of Options.WithoutH
	gather *cuda.Kernel
}

// Load loads the kernels onto a device.
func Load(d *cuda.Device) (*Kernels, error) {
	m, err := d.LoadImage("para", image)
	if err != nil {
		return nil, fmt.Errorf("kernels of para: %w", err)
	}
	k := &Kernels{device: d, module: m}
	if err := k.find(); err != nil {
		return nil, errors.Join(fmt.Errorf("kernels of para: %w", err), k.Close())
	}
	return k, nil
}

func (k *Kernels) find() (err error) {
	for a := range intersect.NumSearches {
		if k.search[a], err = cuda.LoadKernel[searchParams](k.module, "para_search_"+a.String()); err != nil {
			return err
		}
	}
	for _, a := range [...]intersect.Search{intersect.LRC, intersect.LRCSeg, intersect.SegLRC} {
		if k.noH[a], err = cuda.LoadKernel[searchParams](k.module, "para_search_"+a.String()+"_elements"); err != nil {
			return err
		}
	}
	if k.local, err = cuda.LoadKernel[searchParams](k.module, "para_search_lr_local"); err != nil {
		return err
	}
	k.gather, err = cuda.LoadKernel[gatherParams](k.module, "para_gather")
	return err
}

// searchOf returns the kernel for the options of a batch.
func (k *Kernels) searchOf(o Options) *cuda.Kernel {
	switch {
	case o.Local:
		return k.local
	case o.WithoutH:
		return k.noH[o.Search]
	}
	return k.search[o.Search]
}

// Close unloads the kernels, which must not be running.
func (k *Kernels) Close() error { return k.module.Unload() }
