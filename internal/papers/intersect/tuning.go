package intersect

// DefaultBlockCrossing is the ratio of lengths from which on each element of
// the shorter list is searched among the blocks of the longer one and in its
// own block: the number of elements of a block. From there on some block
// contains no element of the shorter list (PPoPP 2018, §3.2).
const DefaultBlockCrossing = 128

// DefaultCrossing is this ratio for uncompressed lists. On an H200 with lists
// of 10 million, merging takes 43 µs and Probe 48 at a ratio of 4, 32 and 22 at
// 16, 29 and 15 at 64; for lists up to a million both take the time of their
// launches.
const DefaultCrossing = 16

// tuning is the launch policy, the same for all devices of compute capability 8.0 and
// later.
var tuning = struct {
	// blocksPerMultiprocessor limits grids. A multiprocessor holds 2,048
	// threads, which are 8 blocks of 256, so this is two waves.
	blocksPerMultiprocessor int
	// ungroupedTiles is the number of counts that a block of intersect_gather
	// sums without sums of groups: two loads per thread.
	ungroupedTiles int
	// partitionTiles is the maximum number of tiles of a merge that find their
	// own diagonals. With more, a preceding kernel finds them.
	partitionTiles int
	// smallMerge is the number of elements of both lists up to which tiles have
	// 7 instead of 15 elements per thread, so that short lists occupy more
	// blocks.
	smallMerge int
	// fewElements is the number of elements of A up to which 8 threads search
	// each.
	fewElements int
}{
	blocksPerMultiprocessor: 16,
	ungroupedTiles:          512,
	partitionTiles:          512,
	smallMerge:              1 << 19,
	fewElements:             1 << 14,
}
