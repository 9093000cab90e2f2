package decode

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// scanTile is the values per block of threads.
const scanTile = 16 * threads

// scanParams mirrors DecodeScanParams.
type scanParams struct {
	values, sums        cuda.Ptr[uint32]
	numValues, numTiles uint32
}

// ScanWords returns the words of memory that Sum needs for n values.
func ScanWords(n int) int { return (n + scanTile - 1) / scanTile }

// Sum enqueues converting the gaps of a whole list to DocIDs, in place, in
// three launches, for comparison with the localised sums of DocIDs (ding09,
// §6.1). values is 16-byte aligned; sums has ScanWords words. It allocates
// nothing, except in its first call.
func (k *Kernels) Sum(s *cuda.Stream, values, sums cuda.Buffer[uint32]) error {
	n := values.Len()
	if sums.Len() < ScanWords(n) || values.Ptr()%16 != 0 || uint64(n) > 1<<32-1-scanTile {
		return fmt.Errorf("scan of %d values at %#x with %d sums: %w", n, values.Ptr(), sums.Len(), ErrShape)
	}
	if n == 0 {
		return nil
	}
	p := scanParams{values: values.Ptr(), sums: sums.Ptr(), numValues: uint32(n), numTiles: uint32(ScanWords(n))}
	for i, name := range [...]string{"decode_scan_tiles", "decode_scan_sums", "decode_scan_docids"} {
		kernel := k.scan[i].Load()
		if kernel == nil {
			loaded, err := load[scanParams](k, "decode_scan", name)
			if err != nil {
				return err
			}
			k.scan[i].Store(loaded)
			kernel = loaded
		}
		grid := int(p.numTiles)
		if i == 1 {
			grid = 1
		}
		if err := cuda.Launch(s, kernel, cuda.D1(grid), cuda.D1(threads), 0, &p); err != nil {
			return err
		}
	}
	return nil
}
