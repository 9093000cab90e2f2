package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// prepareThread asks the system to wake this thread on time, instead of up to
// 50 µs later. If it refuses, queries are slightly late, which is measured.
func prepareThread() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

func restoreThread() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }

// sleepExactly sleeps for d, or less after a signal.
func sleepExactly(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
}
