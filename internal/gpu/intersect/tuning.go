package intersect

// DefaultBlockCrossing is the ratio of lengths from which on each element of the shorter
// list is searched among the blocks of the longer one and in its own: the elements of a
// block, so that from there on some block holds no element of the shorter list (PPoPP
// 2018, §3.2).
const DefaultBlockCrossing = 128

// DefaultCrossing is that ratio for uncompressed lists. On an H200, of lists of 10
// million, merging takes 43 µs and Probe 48 at a ratio of 4, 32 and 22 at 16, 29 and 15
// at 64; of lists up to a million both take the time of their launches.
const DefaultCrossing = 16

// tuning is the launch policy, the same for all devices of compute capability 8.0 and
// later.
var tuning = struct {
	// blocksPerMultiprocessor bounds grids; a block of 256 threads has a slot on a
	// multiprocessor that holds 2,048 threads, so this is two waves.
	blocksPerMultiprocessor int
	// ungroupedTiles is how many counts a block of intersect_gather adds up without
	// sums of groups: two loads a thread.
	ungroupedTiles int
	// partitionTiles is how many tiles of a merge find their own diagonals. With more,
	// a kernel before it finds them all, once each.
	partitionTiles int
	// smallMerge is the number of elements of both lists up to which tiles have 7
	// elements a thread rather than 15, so that short lists occupy more blocks.
	smallMerge int
	// fewElements is the number of elements of A up to which 8 threads search each.
	fewElements int
}{
	blocksPerMultiprocessor: 16,
	ungroupedTiles:          512,
	partitionTiles:          512,
	smallMerge:              1 << 19,
	fewElements:             1 << 14,
}
