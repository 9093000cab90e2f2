package packedsearch

// Launch policy. Measured on an H200 (docs/benchmarks/gpu-packedsearch.md).
const (
	// threads is the number of threads of a block: 8 warps.
	threads = 256
	// minBlocks is the minimum number of blocks per multiprocessor; it limits a thread to 64
	// registers.
	minBlocks = 1024 / threads
	// rangeDocs is the number of documents of a range: one word of shared memory per
	// document, and one word of bits per thread.
	rangeDocs = 32 * threads
	// chunk is the number of ranges for which a block of threads reads directories at once.
	chunk = 8
	// numBuckets is the number of buckets of the histogram of scores.
	numBuckets = 256
	// inFlight is the number of blocks that a warp loads at once.
	inFlight = 4
	// minGroup and maxGroup limit the candidates of a group of a conjunction. Groups are small
	// enough to use the whole device.
	minGroup, maxGroup = 32, 2 * threads
	// pending is the number of lists of a conjunction that are intersected before their
	// frequencies are read. More lists mean fewer waits.
	pending = 4
)

// minCapacity is the minimum of capacity, which has numCapacities values.
const (
	minCapacity   = 2 * threads
	numCapacities = 3
)

// capacity returns the number of keys that a block keeps: minCapacity times a power of two, at
// least k plus one per thread.
func capacity(k int) int {
	c := minCapacity
	for c < k+threads {
		c *= 2
	}
	return c
}

// groupSize returns the size of the groups of n candidates if resident blocks run at the same
// time: a multiple of minGroup.
func groupSize(n, resident int) int {
	size := (n + resident*minGroup - 1) / (resident * minGroup) * minGroup
	return min(max(size, minGroup), maxGroup)
}
