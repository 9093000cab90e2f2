//go:build !nolab

package load

import (
	"errors"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// briefly is the longest wait that keeps the processor of the Go runtime: otherwise its monitor takes it away, for which it
// wakes up every 20 µs.
const briefly = 500 * time.Microsecond

// withoutNanos: the kernel is older than epoll_pwait2 (5.11).
var withoutNanos atomic.Bool

// epollWait waits for events for at most d, to the nanosecond, or less after a signal. It returns their number.
func epollWait(poll int, events []unix.EpollEvent, d time.Duration) int {
	for !withoutNanos.Load() {
		var n uintptr
		var errno unix.Errno
		t := unix.NsecToTimespec(int64(max(d, 0)))
		if d <= briefly {
			n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(poll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&t)), 0, 0)
		} else {
			n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(poll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&t)), 0, 0)
		}
		switch {
		case errno == 0:
			return int(n)
		case errors.Is(errno, unix.ENOSYS):
			withoutNanos.Store(true)
		default: // a signal
			return 0
		}
	}
	if 0 < d && d < time.Millisecond {
		sleepExactly(d)
		d = 0
	}
	n, err := unix.EpollWait(poll, events, int(max(d, 0)/time.Millisecond))
	if err != nil {
		return 0
	}
	return n
}

// sleepBriefly sleeps for d, or less after a signal, and keeps the processor of the Go runtime.
func sleepBriefly(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}
