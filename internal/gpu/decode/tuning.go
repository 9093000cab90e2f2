package decode

const (
	// threads of a block, and the warps that they are.
	threads = 128
	warps   = threads / 32
	// residentWarps is how many warps of the kernels of simdbp and ef an H200 holds at a
	// time: 132 multiprocessors, 48 each.
	residentWarps = 132 * 48
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
