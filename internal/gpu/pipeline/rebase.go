package pipeline

import (
	_ "embed"
	"errors"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/pipeline.ptx
var image []byte

// rebaseParams is the mirror of PipelineRebaseParams.
type rebaseParams struct {
	docIDs      cuda.Ptr[uint32]
	count, base uint32
}

// rebaseThreads is the number of threads of a block.
const rebaseThreads = 256

// rebaser makes DocIDs of a segment those of a part of it, on a device.
type rebaser struct {
	module *cuda.Module
	kernel *cuda.Kernel
}

func newRebaser(d *cuda.Device) (*rebaser, error) {
	m, err := d.LoadModule("pipeline", image)
	if err != nil {
		return nil, err
	}
	k, err := cuda.LoadKernel[rebaseParams](m, "pipeline_rebase")
	if err != nil {
		return nil, errors.Join(err, m.Unload())
	}
	return &rebaser{m, k}, nil
}

// rebase subtracts base from each of docIDs, in the order of the stream.
func (r *rebaser) rebase(s *cuda.Stream, docIDs cuda.Buffer[uint32], base uint32) error {
	p := rebaseParams{docIDs: docIDs.Ptr(), count: uint32(docIDs.Len()), base: base}
	blocks := (docIDs.Len() + rebaseThreads - 1) / rebaseThreads
	return cuda.Launch(s, r.kernel, cuda.D1(blocks), cuda.D1(rebaseThreads), 0, &p)
}

func (r *rebaser) close() error { return r.module.Unload() }
