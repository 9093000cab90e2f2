package scoring

const (
	threads = 256
	// 2048 resident threads.
	blocksPerMultiprocessor = 8
)
