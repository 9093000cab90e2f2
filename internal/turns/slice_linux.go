package turns

import (
	"os"
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

func threads() (ids []int) {
	entries, _ := os.ReadDir("/proc/self/task") // without /proc, none
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
