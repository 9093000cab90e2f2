//go:build unix

package server

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawOf returns nil for a connection that is not one of the system.
func rawOf(c net.Conn) syscall.RawConn {
	if counted, ok := c.(*countedConn); ok {
		c = counted.Conn
	}
	system, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// hasLeft reports whether the client has closed the connection.
func hasLeft(raw syscall.RawConn) (left bool) {
	err := raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		left = n == 0 && err == nil || err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	return left || err != nil
}
