package decode

const (
	// threads of a block, and the warps that they are.
	threads = 256
	warps   = threads / 32
	// maxTileBlocks is the most blocks of a tile.
	maxTileBlocks = 8
	// manyBlocks is from where on there is work for all of a large device even in tiles
	// of maxTileBlocks: an H200 holds 132 * 64 warps at a time.
	manyBlocks = 132 * 64 * maxTileBlocks / 2
)

// tileBlocks returns how many blocks a warp decodes one after another. More share what
// it costs to find them, and are loaded side by side; fewer make short lists fill the
// device sooner.
func tileBlocks(blocks uint64) uint32 {
	switch {
	case blocks >= manyBlocks:
		return maxTileBlocks
	case blocks >= manyBlocks/2:
		return maxTileBlocks / 2
	case blocks >= manyBlocks/4:
		return maxTileBlocks / 4
	}
	return 1
}
