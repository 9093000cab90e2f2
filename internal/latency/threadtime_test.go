package latency_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

func TestThreadTimeCountsWorkAlone(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start, ok := latency.ThreadTime()
	if ok != (runtime.GOOS == "linux") {
		t.Fatalf("ok is %v on %s", ok, runtime.GOOS)
	}
	if !ok {
		return
	}
	const sleep = 30 * time.Millisecond
	time.Sleep(sleep)
	slept, _ := latency.ThreadTime()
	if slept-start > sleep/2 {
		t.Errorf("%v while asleep", slept-start)
	}
	for range 1_000_000 {
		if worked, _ := latency.ThreadTime(); worked > slept {
			return
		}
	}
	t.Error("no time for a million steps")
}
