package packedsearch

import (
	_ "embed"
	"errors"
	"math/bits"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/packedsearch.ptx.zst
var image []byte

// Kernels are this package's kernels on one device. Safe for concurrent use.
type Kernels struct {
	device *cuda.Device
	module *cuda.Module

	anyScored, anyCount, all kernel
	copy                     *cuda.Kernel
}

type kernel struct {
	*cuda.Kernel
	// Dynamic shared memory of a block in bytes, without its keys.
	shared int
	// resident[log2(capacity / minCapacity)] blocks can run at the same time.
	resident [numCapacities]int
}

func (k *kernel) sharedBytes(capacity int) int { return k.shared + capacity*8 }

func (k *kernel) residentFor(capacity int) int {
	return k.resident[bits.TrailingZeros(uint(capacity/minCapacity))]
}

// New loads the kernels on a device.
func New(d *cuda.Device) (*Kernels, error) {
	m, err := d.LoadImage("packedsearch", image)
	if err != nil {
		return nil, err
	}
	k := &Kernels{device: d, module: m}
	if err := k.load(); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *Kernels) load() (err error) {
	k.anyScored.shared = rangeDocs * 4 // a sum per document
	for _, e := range []struct {
		kernel *kernel
		name   string
	}{
		{&k.anyScored, "packedsearch_any"},
		{&k.anyCount, "packedsearch_any_count"},
		{&k.all, "packedsearch_all"},
	} {
		if e.kernel.Kernel, err = cuda.LoadKernel[searchParams](k.module, e.name); err != nil {
			return err
		}
		for i := range e.kernel.resident {
			shared := e.kernel.sharedBytes(minCapacity << i)
			if err := e.kernel.SetMaxShared(shared); err != nil {
				return err
			}
			n, err := e.kernel.BlocksPerMultiprocessor(threads, shared)
			if err != nil {
				return err
			}
			e.kernel.resident[i] = max(n*k.device.Info().Multiprocessors, 1)
		}
	}
	k.copy, err = cuda.LoadKernel[copyParams](k.module, "packedsearch_copy")
	return err
}

// Close unloads the kernels, which must not be running.
func (k *Kernels) Close() error {
	if k.module == nil {
		return nil
	}
	err := k.module.Unload()
	k.module = nil
	return err
}
