package imagesearch

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/postings"
)

// bandUnit is the granularity of bands in superblocks. Smaller units fill memory better, but cuts are larger.
const bandUnit = 4

// maxBandSupers is the maximum number of superblocks of a band: a tile of a list that is not dense has the whole band, with a
// word of shared memory per range.
const maxBandSupers = 48

// Cuts locate the units of a segment's documents in the blocks of a compressed list. They depend only on the list, and may
// be kept. Safe for concurrent use.
type Cuts struct {
	unit int // in superblocks
	// at[u] is the first block with a document of unit u or later, << 1; 1 is added if the block begins before the unit.
	at []uint32
	// freqWidth is the maximum width of a block's frequencies in bits.
	freqWidth uint8
}

// NewCuts returns the cuts of a list's directory in a segment of numDocs documents. It reads the whole directory.
func (k *Kernels) NewCuts(numDocs int, directory []postings.BlockEntry) *Cuts {
	unitDocs := k.passes.unit * superDocs
	c := &Cuts{unit: k.passes.unit, at: make([]uint32, (numDocs+unitDocs-1)/unitDocs+1)}
	block := 0
	for u := range c.at {
		first := uint64(u) * uint64(unitDocs)
		for block < len(directory) && uint64(directory[block].Last) < first {
			block++
		}
		c.at[u] = uint32(block) << 1
		if block < len(directory) && uint64(directory[block].First) < first {
			c.at[u]++
		}
	}
	if len(directory) > 0 {
		c.freqWidth = slices.MaxFunc(directory, func(a, b postings.BlockEntry) int { return int(a.FreqWidth) - int(b.FreqWidth) }).FreqWidth
	}
	return c
}

// SizeBytes is the memory of the cuts.
func (c *Cuts) SizeBytes() int64 { return 4 * int64(len(c.at)) }

// cutBlocks returns the blocks that can have documents of units [from, to) by Cuts.at.
func cutBlocks(at []uint32, from, to int) (first, n uint32) {
	first = at[from] >> 1
	end := at[to]
	return first, max(end>>1+end&1, first) - first
}

// freqBytes returns the bytes per frequency of the images of bands, which have no table of long frequencies.
func (c *Cuts) freqBytes(s *Shape) (int, error) {
	switch {
	case s.Saturation.Linear && s.Max > 1<<16-1, !s.Saturation.Linear && c.freqWidth > 15:
		return 0, fmt.Errorf("frequencies of %d bits, of up to %d: %w", c.freqWidth, s.Max, ErrUnsuited)
	case s.Saturation.Linear || c.freqWidth <= 7:
		return s.freqBytes(), nil
	}
	return 2, nil
}
