package turns

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func setSlices(d time.Duration) {
	for range 2 { // again for threads that others made meanwhile
		for _, id := range threads() {
			attr, err := unix.SchedGetAttr(id, 0)
			if err != nil || attr.Policy != unix.SCHED_NORMAL && attr.Policy != unix.SCHED_BATCH {
				continue // it has ended, or has no slices
			}
			attr.Runtime = uint64(d)
			_ = unix.SchedSetAttr(id, attr, 0) // it is not needed
		}
	}
}

// withSlice changes the slice of the calling thread meanwhile, if ShortSlices or the system set one.
func withSlice(d time.Duration, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL || attr.Runtime == 0 {
		f()
		return
	}
	before := attr.Runtime
	attr.Runtime = uint64(d)
	if unix.SchedSetAttr(0, attr, 0) != nil {
		f()
		return
	}
	defer func() {
		attr.Runtime = before
		_ = unix.SchedSetAttr(0, attr, 0) // as it was
	}()
	f()
}

func threads() (ids []int) {
	entries, _ := os.ReadDir("/proc/self/task") // without /proc, none
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
