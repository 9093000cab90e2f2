package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// There are more threads but no more garbage collection; the number of processors stays.
func TestShareProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(3)
	percent := debug.SetGCPercent(100)
	defer func() {
		runtime.GOMAXPROCS(before)
		debug.SetGCPercent(percent)
	}()
	for gogc, changes := range map[string]bool{"": true, "50": false /* the runtime read it */} {
		t.Run(gogc, func(t *testing.T) {
			t.Setenv("GOGC", gogc)
			runtime.GOMAXPROCS(3)
			debug.SetGCPercent(100)
			if n := shareProcessors(1); n != 3 || runtime.GOMAXPROCS(0) != 9 {
				t.Errorf("%d processors, GOMAXPROCS %d", n, runtime.GOMAXPROCS(0))
			}
			if got := debug.SetGCPercent(100); (got > 100) != changes {
				t.Errorf("GOGC=%q: %d", gogc, got)
			}
		})
	}
}
