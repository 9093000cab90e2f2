package saat

import (
	"bytes"
	"sync"
	"time"
)

// Bandwidth measures memory read bandwidth in bytes a second: the best of several passes, each
// thread reading its own sizeBytes sequentially. Compare it with BatchResult.Traffic; sizeBytes
// should be several last-level caches.
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
			// IndexByte is faster than memory.
			wg.Go(func() { _ = bytes.IndexByte(b, 2) })
		}
		wg.Wait()
		best = max(best, float64(threads)*float64(sizeBytes)/time.Since(start).Seconds())
	}
	return best
}
