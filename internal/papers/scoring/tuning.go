package scoring

const (
	// threads per block.
	threads = 256
	// blocksPerMultiprocessor is the number of resident blocks: 2048 threads.
	blocksPerMultiprocessor = 8
)
