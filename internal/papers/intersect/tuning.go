package intersect

// DefaultBlockCrossing is the ratio for compressed lists, the number of
// elements of a block: from there on some block contains no element of the
// shorter list (PPoPP 2018, §3.2).
const DefaultBlockCrossing = 128

// DefaultCrossing is the ratio for uncompressed lists. On an H200 with lists of
// 10 million, merging takes 43 µs and Probe 48 at a ratio of 4, 32 and 22 at
// 16, 29 and 15 at 64; for lists up to a million both take the time of their
// launches.
const DefaultCrossing = 16

// tuning is the launch policy for all devices.
var tuning = struct {
	// Two waves: a multiprocessor holds 8 blocks of 256 threads.
	blocksPerMultiprocessor int
	// Counts that a block of intersect_gather sums without sums of groups: two
	// loads per thread.
	ungroupedTiles int
	// Maximum tiles of a merge without a preceding kernel that finds diagonals.
	partitionTiles int
	// Elements of both lists up to which tiles have 7 instead of 15 elements per
	// thread, to occupy more blocks.
	smallMerge int
	// Elements of A up to which 8 threads search each.
	fewElements int
}{
	blocksPerMultiprocessor: 16,
	ungroupedTiles:          512,
	partitionTiles:          512,
	smallMerge:              1 << 19,
	fewElements:             1 << 14,
}
