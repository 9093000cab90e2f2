package direct

// Launch policy. Measured on an H200 (docs/benchmarks/gpu-direct.md).
const (
	// threads is the number of threads of a block: 8 warps.
	threads = 256
	// minBlocks is how many blocks a multiprocessor should hold: it bounds the registers
	// of a thread to 64.
	minBlocks = 1024 / threads
	// rangeDocs is how many documents a block sums scores for at a time: a word each of
	// shared memory, and a word of bits for each thread.
	rangeDocs = 32 * threads
	// chunk is how many ranges a block finds its blocks for at a time.
	chunk = 8
	// numBuckets is the number of buckets by which scores are counted.
	numBuckets = 256
	// inFlight is how many blocks' bytes a warp has on their way at a time.
	inFlight = 4
	// minGroup and maxGroup are how many candidates of a conjunction a block takes at a
	// time: as few as give each block that runs at a time a group, so that the whole
	// device is at work at once.
	minGroup, maxGroup = 32, 2 * threads
	// pending is how many lists of a conjunction are intersected before frequencies are
	// read: the more, the fewer waits.
	pending = 4
)

// minCapacity is the least that capacity returns: it has numCapacities values.
const (
	minCapacity   = 2 * threads
	numCapacities = 3
)

// capacity is how many keys a block keeps: minCapacity times a power of two, with room
// for those of a step of all threads beyond the best k.
func capacity(k int) int {
	c := minCapacity
	for c < k+threads {
		c *= 2
	}
	return c
}

// groupSize is how many of n candidates a block takes at a time, where resident blocks
// run at a time: a multiple of minGroup.
func groupSize(n, resident int) int {
	size := (n + resident*minGroup - 1) / (resident * minGroup) * minGroup
	return min(max(size, minGroup), maxGroup)
}
