package load

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// ReadProcess reads the state of this process: all of a Reading but the fields of GPUs
// and Errors.
func ReadProcess() Reading {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r := Reading{HeapBytes: int64(m.HeapInuse), Goroutines: int64(runtime.NumGoroutine()), HostBytes: int64(m.Sys - m.HeapReleased)}
	if n, ok := AnonymousBytes(); ok {
		r.HostBytes = n
	}
	return r
}

// AnonymousBytes returns how much memory this process has in use that is no file's: the
// pages of a mapped index come and go as the system likes. ok is false where the system
// does not tell.
func AnonymousBytes() (sizeBytes int64, ok bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if value, is := strings.CutPrefix(line, "RssAnon:"); is {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
