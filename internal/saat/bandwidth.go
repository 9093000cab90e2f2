package saat

import (
	"bytes"
	"sync"
	"time"
)

// Bandwidth measures the memory read bandwidth of the given number of threads in bytes a
// second. Each thread reads its own sizeBytes sequentially; the result is the best of
// several passes. Compare it with BatchResult.Traffic. sizeBytes should be several times
// the last-level cache.
func Bandwidth(threads, sizeBytes int) float64 {
	buffers := make([][]byte, threads)
	for i := range buffers {
		buffers[i] = make([]byte, sizeBytes)
		for j := 0; j < sizeBytes; j += 4096 {
			buffers[i][j] = 1 // allocate the page
		}
	}
	const passes = 5
	best := 0.0
	for range passes {
		var wg sync.WaitGroup
		start := time.Now()
		for _, b := range buffers {
			// IndexByte compares whole vectors, faster than memory delivers them.
			wg.Go(func() { _ = bytes.IndexByte(b, 2) })
		}
		wg.Wait()
		best = max(best, float64(threads)*float64(sizeBytes)/time.Since(start).Seconds())
	}
	return best
}
