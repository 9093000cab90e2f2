package load

import (
	"runtime"

	"github.com/griffin-search/griffin/internal/footprint"
)

// ReadProcess reads this process, except GPU fields and Errors.
func ReadProcess() Reading {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r := Reading{HeapBytes: int64(m.HeapInuse), Goroutines: int64(runtime.NumGoroutine()), HostBytes: int64(m.Sys - m.HeapReleased)}
	if n, ok := footprint.AnonymousBytes(); ok {
		r.HostBytes = n
	}
	return r
}
