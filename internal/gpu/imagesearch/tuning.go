package imagesearch

// Launch policy. Measured on an H200 (docs/benchmarks/gpu-imagesearch.md).
const (
	// threads is the number of threads of a block: 8 warps.
	threads = 256
	// maxWindow is the maximum number of superblocks that a block sorts at a time.
	maxWindow = 8192
	// minWindow is the minimum; all windows are multiples of it.
	minWindow = 16
	// listRoom is the number of ranges that a block collects before it scores them.
	listRoom = 512
	// firstList is listRoom for the first list, to get a threshold early.
	firstList = 256
	// numBuckets is the number of buckets for sorting scores and bounds.
	numBuckets = 256
	// inFlight is the number of outstanding loads of a lane.
	inFlight = 4
	// unitRanges is the number of adjacent ranges in a unit of work of a single query.
	unitRanges = 32
	// openHits is the maximum k for which a single query gets its threshold from the best
	// range of each warp.
	openHits = 128
	// warpSums is the number of words of a warp's shared memory: a bound per range.
	warpSums = superRanges
)

// capacity returns the number of keys that a block keeps: a power of two, at least k plus one
// per thread.
func capacity(k int) int {
	c := 2 * threads
	for c < k+threads {
		c *= 2
	}
	return c
}

// windowFor returns the number of superblocks that a block sorts at a time: all of its supers
// if possible, limited by maxWindow and by the shared memory beside terms and capacity keys.
func (k *Kernels) windowFor(supers, terms, capacity int) int {
	room := (k.shared - sharedBytes(terms, 0, capacity)) / windowBytes
	return min(supers+minWindow-1, k.maxWindow, room) &^ (minWindow - 1)
}

// windowBytes is the shared memory per superblock of a window: its bucket, and its position in
// the order.
const windowBytes = 3

// sharedBytes returns the dynamic shared memory of a block.
func sharedBytes(terms, window, capacity int) int {
	return capacity*8 + // keys
		terms*128 + // termParams
		window*windowBytes
}
