package saat

import (
	"bytes"
	"sync"
	"time"
)

// Bandwidth measures how many bytes a second the given number of threads read from
// memory, each its own sizeBytes, front to back: the best of a few passes. It is
// what BatchResult.Traffic is held against. sizeBytes should be some times the last cache.
func Bandwidth(threads, sizeBytes int) float64 {
	buffers := make([][]byte, threads)
	for i := range buffers {
		buffers[i] = make([]byte, sizeBytes)
		for j := 0; j < sizeBytes; j += 4096 {
			buffers[i][j] = 1 // so that it is memory of its own
		}
	}
	const passes = 5
	best := 0.0
	for range passes {
		var wg sync.WaitGroup
		start := time.Now()
		for _, b := range buffers {
			// It compares whole vectors, faster than they come from memory.
			wg.Go(func() { _ = bytes.IndexByte(b, 2) })
		}
		wg.Wait()
		best = max(best, float64(threads)*float64(sizeBytes)/time.Since(start).Seconds())
	}
	return best
}
