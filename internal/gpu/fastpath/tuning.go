package fastpath

// Launch policy. Measured on an H200 (docs/benchmarks/gpu-fastpath.md).
const (
	// threads is the number of threads of a block: 8 warps.
	threads = 256
	// maxWindow is how many superblocks a block sorts at a time.
	maxWindow = 8192
	// minWindow is the least, of which others are multiples.
	minWindow = 16
	// listRoom is how many ranges a block collects before it scores them.
	listRoom = 512
	// firstList is how many it collects the first time, to have a threshold soon.
	firstList = 256
	// numBuckets is the number of buckets by which scores and bounds are sorted.
	numBuckets = 256
	// inFlight is how many loads a lane has under way at a time.
	inFlight = 4
	// unitRanges is how many ranges, side by side, a block of a query on its own takes
	// at a time.
	unitRanges = 32
	// openHits is for how many hits at most such a query's threshold comes from the best
	// range of each warp.
	openHits = 128
	// warpSums is the number of words of a warp's own shared memory: a bound a range.
	warpSums = superRanges
)

// capacity is how many keys a block keeps: a power of two with room for those of a step
// of all threads beyond the best k.
func capacity(k int) int {
	c := 2 * threads
	for c < k+threads {
		c *= 2
	}
	return c
}

// windowFor is how many superblocks a block sorts at a time that has so many in all, and
// shared memory for so many terms and keys: as many as there is room for, up to maxWindow.
func (k *Kernels) windowFor(supers, terms, capacity int) int {
	room := (k.shared - sharedBytes(terms, 0, capacity)) / windowBytes
	return min(supers+minWindow-1, k.maxWindow, room) &^ (minWindow - 1)
}

// windowBytes is the shared memory of a superblock of a window: its bucket and its place
// in the order.
const windowBytes = 3

// sharedBytes is the dynamic shared memory of a block.
func sharedBytes(terms, window, capacity int) int {
	return capacity*8 + // keys
		terms*128 + // termParams
		window*windowBytes
}
