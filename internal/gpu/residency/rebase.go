package residency

import (
	_ "embed"
	"errors"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/residency.ptx.zst
var image []byte

// rebaseParams mirrors ResidencyRebaseParams.
type rebaseParams struct {
	docIDs      cuda.Ptr[uint32]
	count, base uint32
}

const rebaseThreads = 256

// rebaser converts DocIDs of a segment to a shard's, on a device.
type rebaser struct {
	module *cuda.Module
	kernel *cuda.Kernel
}

func newRebaser(d *cuda.Device) (*rebaser, error) {
	m, err := d.LoadImage("residency", image)
	if err != nil {
		return nil, err
	}
	k, err := cuda.LoadKernel[rebaseParams](m, "residency_rebase")
	if err != nil {
		return nil, errors.Join(err, m.Unload())
	}
	return &rebaser{m, k}, nil
}

// rebase subtracts base from each of docIDs, in stream order.
func (r *rebaser) rebase(s *cuda.Stream, docIDs cuda.Buffer[uint32], base uint32) error {
	p := rebaseParams{docIDs: docIDs.Ptr(), count: uint32(docIDs.Len()), base: base}
	blocks := (docIDs.Len() + rebaseThreads - 1) / rebaseThreads
	return cuda.Launch(s, r.kernel, cuda.D1(blocks), cuda.D1(rebaseThreads), 0, &p)
}

func (r *rebaser) close() error { return r.module.Unload() }
