package selection

const (
	// MaxK is the greatest k of every method but the CPU's.
	MaxK = 2048

	// Heap.
	heapGroupLen  = 512
	heapMaxLevels = 3
	heapThreads   = 256
	heapGroups    = heapThreads / 32 // of a block

	// Bucket select: each pass settles 10 bits.
	bucketThreads    = 256
	bucketBlocks     = 4 // a multiprocessor
	bucketBits       = 10
	bucketPasses     = (64 + bucketBits - 1) / bucketBits
	bucketPassesWide = (80 + bucketBits - 1) / bucketBits

	// Radix sort.
	radixThreads     = 256
	radixScanThreads = 1024
	radixBlocks      = 4 // a multiprocessor
	radix            = 256
	radixDigits      = 8
	radixTile        = 4096 // keys that a block sorts at once

	// Ours.
	topThreads     = 512
	topWarps       = topThreads / 32
	topBlocks      = 2 // a multiprocessor
	topChunk       = 128
	topCapacity    = 4096
	topSharedBytes = 8 * topCapacity
	// topOneBlock is the number of scores up to which one block selects as fast as
	// two launches of many.
	topOneBlock = 16384
	// topCoarse: with as many blocks as this times k, their maxima give the bound.
	topCoarse = 8

	countThreads = 256
	countBlocks  = 8 // a multiprocessor
)
