package selection

const (
	// MaxK does not limit CPU.
	MaxK = 2048

	// Heap.
	heapGroupLen  = 512
	heapMaxLevels = 3
	heapThreads   = 256
	heapGroups    = heapThreads / 32 // per block

	// Bucket select: each pass decides 10 bits.
	bucketThreads    = 256
	bucketBlocks     = 4 // per multiprocessor
	bucketBits       = 10
	bucketPasses     = (64 + bucketBits - 1) / bucketBits
	bucketPassesWide = (80 + bucketBits - 1) / bucketBits

	// Radix sort.
	radixThreads     = 256
	radixScanThreads = 1024
	radixBlocks      = 4 // per multiprocessor
	radix            = 256
	radixDigits      = 8
	radixTile        = 4096 // keys that a block sorts at once

	// Top.
	topThreads     = 512
	topWarps       = topThreads / 32
	topBlocks      = 2 // per multiprocessor
	topChunk       = 128
	topCapacity    = 4096
	topSharedBytes = 8 * topCapacity
	// Up to here one block is at least as fast as two launches of many blocks.
	topOneBlock = 16384
	// topCoarse: with at least this times k blocks, the blocks' maxima give the
	// bound.
	topCoarse = 8

	countThreads = 256
	countBlocks  = 8 // per multiprocessor
)
