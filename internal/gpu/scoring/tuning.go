package scoring

const (
	// threads of a block.
	threads = 256
	// blocksPerMultiprocessor is how many of them a multiprocessor runs at once:
	// 2048 threads.
	blocksPerMultiprocessor = 8
)
