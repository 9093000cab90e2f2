package imagesearch

// Measured on an H200 (docs/benchmarks/gpu-imagesearch.md).
const (
	threads = 256
	// maxWindow bounds the superblocks that a block sorts at a time.
	maxWindow = 8192
	// All windows are multiples of minWindow.
	minWindow = 16
	// listRoom is the number of ranges that a block collects before it scores them.
	listRoom = 512
	// firstList is listRoom for the first list, to get a threshold early.
	firstList = 256
	// numBuckets is for sorting scores and bounds.
	numBuckets = 256
	inFlight   = 4
	// unitRanges is the number of adjacent ranges in a unit of a single query.
	unitRanges = 32
	// stayIdle is how long a kernel stays on the device without a query, in cycles: 0.2 ms of an H200, longer than a client
	// on the same machine takes to ask again. stayMost is the maximum time that it stays, 2 ms. Work that no launch
	// announces, such as a copy that the driver makes with a kernel, waits until then.
	stayIdle = 400_000
	stayMost = 10 * stayIdle
	// openHits is the maximum k for which the best range of each warp gives a single
	// query its threshold.
	openHits = 128
	// sentHits is the maximum k for which the blocks of a single query send their hits to the host, and the maximum number of
	// hits of a block.
	sentHits = 32
	// warpSums is a bound per range, in a warp's shared memory.
	warpSums = superRanges
)

// capacity returns the keys that a block keeps: a power of two, at least k plus one per
// thread.
func capacity(k int) int {
	c := 2 * threads
	for c < k+threads {
		c *= 2
	}
	return c
}

// windowFor returns the superblocks that a block sorts at a time: all of its supers if
// maxWindow and the shared memory beside terms and capacity keys permit.
func (k *Kernels) windowFor(supers, terms, capacity int) int {
	room := (k.shared - sharedBytes(terms, 0, capacity)) / windowBytes
	return min(supers+minWindow-1, k.maxWindow, room) &^ (minWindow - 1)
}

// windowBytes is for a superblock's bucket and its position in the order.
const windowBytes = 3

func sharedBytes(terms, window, capacity int) int {
	return capacity*8 + // keys
		terms*128 + // termParams
		window*windowBytes
}
