package scoring

import (
	_ "embed" // the image
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/scoring.ptx.zst
var image []byte

// ErrShape means that buffers are too short: a bug of the caller.
var ErrShape = errors.New("scoring: buffers do not fit")

// Kernels are the kernels of this package on one device.
type Kernels struct {
	module        *cuda.Module
	maxBlocks     int // of a grid: blocks that the device runs at the same time
	contributions *cuda.Kernel
	clear         *cuda.Kernel
	byWidth       [2]widthKernels // narrow, wide
}

type widthKernels struct {
	candidates, query, accumulate, accumulateAll *cuda.Kernel
}

// New loads the kernels.
func New(d *cuda.Device) (*Kernels, error) {
	module, err := d.LoadImage("scoring", image)
	if err != nil {
		return nil, err
	}
	k := &Kernels{module: module, maxBlocks: d.Info().Multiprocessors * blocksPerMultiprocessor}
	if err := k.load(); err != nil {
		return nil, errors.Join(err, module.Unload())
	}
	return k, nil
}

func (k *Kernels) load() (err error) {
	if k.contributions, err = cuda.LoadKernel[contributionsParams](k.module, "scoring_contributions"); err != nil {
		return err
	}
	if k.clear, err = cuda.LoadKernel[clearParams](k.module, "scoring_clear"); err != nil {
		return err
	}
	for i, width := range [2]string{"_narrow", "_wide"} {
		w := &k.byWidth[i]
		if w.candidates, err = cuda.LoadKernel[candidatesParams](k.module, "scoring_candidates"+width); err != nil {
			return err
		}
		if w.query, err = cuda.LoadKernel[queryParams](k.module, "scoring_query"+width); err != nil {
			return err
		}
		if w.accumulate, err = cuda.LoadKernel[accumulateParams](k.module, "scoring_accumulate"+width); err != nil {
			return err
		}
		if w.accumulateAll, err = cuda.LoadKernel[accumulateAllParams](k.module, "scoring_accumulate_all"+width); err != nil {
			return err
		}
	}
	return nil
}

// Close unloads the kernels, which must not be running.
func (k *Kernels) Close() error { return k.module.Unload() }

// grid has one thread per element, up to the device's capacity.
func (k *Kernels) grid(n int) cuda.Dim {
	return cuda.D1(max(1, min(k.maxBlocks, (n+threads-1)/threads)))
}

type contributionsParams struct {
	list          List
	contributions cuda.Ptr[uint32]
}

// Contributions enqueues writing the contribution of posting i to out[i].
func (k *Kernels) Contributions(s *cuda.Stream, l *List, out cuda.Buffer[uint32]) error {
	if l.docIDs == 0 && l.term.Linear == 0 || out.Len() < l.NumPostings() {
		return fmt.Errorf("contributions of %d postings to %d words: %w", l.NumPostings(), out.Len(), ErrShape)
	}
	p := contributionsParams{list: *l, contributions: out.Ptr()}
	return cuda.Launch(s, k.contributions, k.grid(l.NumPostings()), cuda.D1(threads), 0, &p)
}
