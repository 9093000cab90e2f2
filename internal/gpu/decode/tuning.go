package decode

const (
	// threads of a block, and the warps that they are.
	threads = 128
	warps   = threads / 32
	// residentWarps is how many warps of the kernels of simdbp an H200 holds at a
	// time: 132 multiprocessors, 48 each.
	residentWarps = 132 * 48
	// efWarps is how many of those for DocIDs and gaps of Para-EF.
	efWarps = 132 * 40
	// efTileBlocks is the most blocks of a tile of those, for a single list.
	efTileBlocks = 16
)

// tilePolicy says from how many blocks on a warp decodes how many, one after another.
// More share what it costs to find them, about as much as decoding one, and are loaded
// side by side; fewer fill the device sooner and leave less of it idle at the end. It
// is made for an H200 (capability 9.0; docs/benchmarks/gpu-decode.md), where 8 are the
// best for 80 million values and 4 for 10 million; elsewhere it is only less good.
var tilePolicy = []struct {
	blocks     uint64
	tileBlocks uint32
}{
	{32 * residentWarps, 8}, // at most decodeTileBlocks
	{2 * residentWarps, 4},
	{residentWarps / 2, 2},
	{0, 1},
}

// tileBlocks returns how many of the blocks of a batch a warp decodes.
func tileBlocks(blocks uint64) uint32 {
	for _, p := range tilePolicy {
		if blocks >= p.blocks {
			return p.tileBlocks
		}
	}
	return 1
}

// evenTiles cuts a single list of Para-EF: numTiles tiles of tileBlocks blocks, of which
// the first longerTiles have two more, and the last one may have one less. All warps
// that the device holds at a time get as much as each other: a list of 10 million
// values is one wave of them. blocks is at least 1.
func evenTiles(blocks uint32) (numTiles, tileBlocks, longerTiles uint32) {
	const wave = efWarps * efTileBlocks
	return even(blocks, (blocks+wave-1)/wave*efWarps)
}

// even is evenTiles for up to so many tiles.
func even(blocks, most uint32) (numTiles, tileBlocks, longerTiles uint32) {
	pairs := blocks/2 + blocks%2
	numTiles = min(most, pairs)
	return numTiles, pairs / numTiles * 2, pairs % numTiles
}
