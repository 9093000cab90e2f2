package process

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// AtOnce calls start, which starts a process. If the system permits it, that process has a real-time priority, the
// lowest one: its threads take a processor as soon as they are ready. It must not compute much.
func AtOnce(start func()) (permitted bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	}
	if err != nil {
		start()
		return false
	}
	defer func() {
		if unix.SchedSetAttr(0, before, 0) != nil {
			runtime.LockOSThread() // the thread ends with the goroutine
		}
	}()
	start()
	return true
}
