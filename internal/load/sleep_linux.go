package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// prepareThread asks the system to wake this thread when it is due, and not up to 50 µs
// later to save power. If it refuses, queries are a little late, and counted so.
func prepareThread() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// restoreThread gives the thread back as it was.
func restoreThread() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }

// sleepExactly sleeps for d, or less if a signal comes.
func sleepExactly(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
}
