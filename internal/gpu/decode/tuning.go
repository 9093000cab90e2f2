package decode

const (
	// Threads and warps per block.
	threads = 128
	warps   = threads / 32
	// residentWarps is the number of warps of the simdbp kernels that an H200 runs
	// at the same time.
	residentWarps = 132 * 48
	// efWarps is the same for the Para-EF kernels of DocIDs and gaps.
	efWarps = 132 * 40
	// efTileBlocks bounds their blocks per tile, for a single list.
	efTileBlocks = 16
)

// tilePolicy maps the minimum number of blocks of a batch to blocks per tile.
// Larger tiles share the cost of finding them, about the cost of decoding one
// block, and load blocks together. Smaller tiles fill the device sooner and
// leave less idle at the end. Tuned for an H200
// (docs/benchmarks/gpu-decode.md), where 8 is best for 80 million values and 4
// for 10 million.
var tilePolicy = []struct {
	blocks     uint64
	tileBlocks uint32
}{
	{32 * residentWarps, 8}, // at most decodeTileBlocks
	{2 * residentWarps, 4},
	{residentWarps / 2, 2},
	{0, 1},
}

// tileBlocks returns the blocks of a batch that one warp decodes.
func tileBlocks(blocks uint64) uint32 {
	for _, p := range tilePolicy {
		if blocks >= p.blocks {
			return p.tileBlocks
		}
	}
	return 1
}

// evenTiles divides a single list of Para-EF, of at least 1 block, into
// numTiles tiles of tileBlocks blocks. The first longerTiles have two more, and
// the last may have one less. All warps that run at the same time get equal
// work.
func evenTiles(blocks uint32) (numTiles, tileBlocks, longerTiles uint32) {
	const wave = efWarps * efTileBlocks
	return even(blocks, (blocks+wave-1)/wave*efWarps)
}

// even is evenTiles for a given maximum of tiles.
func even(blocks, most uint32) (numTiles, tileBlocks, longerTiles uint32) {
	pairs := blocks/2 + blocks%2
	numTiles = min(most, pairs)
	return numTiles, pairs / numTiles * 2, pairs % numTiles
}
