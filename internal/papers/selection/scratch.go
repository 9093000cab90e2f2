package selection

import (
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

const (
	keyBytes     = 8
	wideKeyBytes = 16
	// For either BucketState (selection_bucket.cu).
	bucketStateBytes = 64 + 4<<bucketBits
)

// Scratch is device memory for selections on one stream.
type Scratch struct {
	maxScores, maxK int
	methods         []Method

	state                          cuda.Buffer[uint32] // for bucket select: 0 between selections
	extremes                       cuda.Buffer[uint64]
	levels                         [heapMaxLevels]cuda.Buffer[uint64]
	keys                           [2]cuda.Buffer[uint64]
	counts                         cuda.Buffer[uint32]
	differing                      cuda.Buffer[uint64] // 0 between selections
	warpMaxima, blockMaxima, bound cuda.Buffer[uint64]
	gathered                       cuda.Buffer[uint64]
	numGathered, numBlocks         cuda.Buffer[uint32] // 0 between selections
}

// NewScratch allocates for up to maxK of up to maxScores scores by the given
// methods; Bucket also serves Wide. It waits for the device.
func (s *Selector) NewScratch(maxScores, maxK int, methods ...Method) (*Scratch, error) {
	if maxScores < 0 || uint64(maxScores) > 1<<32-1 || maxK < 0 || maxK > MaxK {
		return nil, fmt.Errorf("scratch for k=%d of %d scores: %w", maxK, maxScores, ErrShape)
	}
	scratch := &Scratch{maxScores: maxScores, maxK: maxK, methods: methods}
	a := allocator{device: s.device}
	for _, m := range methods {
		switch m {
		case Top:
			blocks := s.topBlocks(maxScores)
			take(&a, &scratch.warpMaxima, blocks*topWarps)
			take(&a, &scratch.blockMaxima, blocks)
			take(&a, &scratch.bound, 1)
			take(&a, &scratch.gathered, s.maxGathered(maxScores, maxK))
			take(&a, &scratch.numGathered, 1)
			take(&a, &scratch.numBlocks, 1)
		case Heap:
			for l, n := range heapLengths(maxScores) {
				take(&a, &scratch.levels[l], n)
			}
		case Bucket:
			take(&a, &scratch.state, bucketStateBytes/4)
			take(&a, &scratch.extremes, 2*s.blocks(maxScores, bucketThreads, bucketBlocks)*wideKeyBytes/8)
		case Radix:
			take(&a, &scratch.keys[0], maxScores)
			take(&a, &scratch.keys[1], maxScores)
			take(&a, &scratch.counts, radix*s.radixBlocks(maxScores))
			take(&a, &scratch.differing, 1)
		default:
			a.err = fmt.Errorf("%v: %w", m, ErrShape)
		}
	}
	if a.err == nil {
		a.err = scratch.clear(s.device)
	}
	if a.err != nil {
		return nil, errors.Join(a.err, scratch.Free())
	}
	return scratch, nil
}

type allocator struct {
	device *cuda.Device
	err    error
}

func take[T any](a *allocator, to *cuda.Buffer[T], n int) {
	if a.err == nil && to.IsZero() {
		*to, a.err = cuda.Alloc[T](a.device, n)
	}
}

// clear sets the buffers that must be 0 between selections.
func (c *Scratch) clear(d *cuda.Device) error {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	err = errors.Join(
		cuda.Fill(s, c.state, 0), cuda.Fill(s, c.differing, 0), cuda.Fill(s, c.numGathered, 0), cuda.Fill(s, c.numBlocks, 0),
		s.Synchronize())
	return errors.Join(err, s.Close())
}

// Free releases the memory, which must not be in use.
func (c *Scratch) Free() error {
	errs := []error{
		c.state.Free(), c.extremes.Free(), c.keys[0].Free(), c.keys[1].Free(), c.counts.Free(), c.differing.Free(),
		c.warpMaxima.Free(), c.blockMaxima.Free(), c.bound.Free(), c.gathered.Free(), c.numGathered.Free(), c.numBlocks.Free(),
	}
	for _, l := range c.levels {
		errs = append(errs, l.Free())
	}
	*c = Scratch{}
	return errors.Join(errs...)
}

// check reports a selection that exceeds the scratch or the output.
func (c *Scratch) check(m Method, n, k, out int) error {
	if n > c.maxScores || k < 0 || k > c.maxK || out < k || !slices.Contains(c.methods, m) {
		return fmt.Errorf("%v of k=%d of %d scores to %d keys with scratch for %d of %d by %v: %w", m, k, n, out, c.maxK, c.maxScores, c.methods, ErrShape)
	}
	return nil
}
