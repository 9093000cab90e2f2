package packedsearch

// Measured on an H200 (docs/benchmarks/gpu-packedsearch.md).
const (
	threads = 256
	// minBlocks per multiprocessor limit a thread to 64 registers.
	minBlocks = 1024 / threads
	// rangeDocs needs one word of shared memory per document, and one word of bits
	// per thread.
	rangeDocs = 32 * threads
	// chunk is the number of ranges for which a block of threads reads directories at once.
	chunk      = 8
	numBuckets = 256
	// inFlight is the number of blocks that a warp loads at once.
	inFlight = 4
	// Candidates of a group: few, to use the whole device.
	minGroup, maxGroup = 32, 2 * threads
	// pending is the number of lists that are intersected before their frequencies are
	// read. More lists mean fewer waits.
	pending = 4
)

const (
	minCapacity   = 2 * threads
	numCapacities = 3
)

// capacity returns the keys that a block keeps: minCapacity times a power of two, at least k
// plus one per thread.
func capacity(k int) int {
	c := minCapacity
	for c < k+threads {
		c *= 2
	}
	return c
}

// groupSize is for n candidates if resident blocks run at the same time: a multiple of
// minGroup.
func groupSize(n, resident int) int {
	size := (n + resident*minGroup - 1) / (resident * minGroup) * minGroup
	return min(max(size, minGroup), maxGroup)
}
