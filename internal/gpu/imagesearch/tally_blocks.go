package imagesearch

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// residence is an argument of blocks.
type residence struct {
	kernel *cuda.Kernel
	shared int
}

// blocks returns the blocks of a launch: at most those that run at the same time.
func (t *Tally) blocks(kernel *cuda.Kernel, shared int, segment *Segment) (int, error) {
	of := residence{kernel, shared}
	resident := t.resident[of]
	if resident == 0 {
		if err := kernel.SetMaxShared(shared); err != nil {
			return 0, err
		}
		n, err := kernel.BlocksPerMultiprocessor(tallyThreads, shared)
		if err != nil {
			return 0, err
		}
		resident = max(n, 1)
		t.resident[of] = resident
	}
	words := (segment.NumDocs + rangeDocs - 1) / rangeDocs
	blocks := min(resident*t.kernels.device.Info().Multiprocessors, (words+tallyThreads-1)/tallyThreads)
	if t.mostBlocks > 0 {
		blocks = min(blocks, t.mostBlocks)
	}
	return blocks, nil
}

// unitsOf returns the units of a warp at a time: all that it has, up to tallyUnits.
func unitsOf(numDocs, blocks int) uint32 {
	const unitDocs = 32 * rangeDocs
	units, warps := (numDocs+unitDocs-1)/unitDocs, blocks*(tallyThreads/32)
	return uint32(min((units+warps-1)/warps, tallyUnits))
}

// copiesOf is 0 if counts do not fit into the shared memory of a block.
func copiesOf(slots, room int) uint32 {
	copies := tallyCopies
	for copies > 1 && 4*slots*copies > tallyShared {
		copies /= 2
	}
	if 4*slots*copies > room {
		return 0
	}
	return uint32(copies)
}
