package server

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stampedReader reads from a connection, and gets the time at which the kernel received the bytes. A request can wait
// for milliseconds until a thread reads it, when many arrive: nothing else shows this wait.
type stampedReader struct {
	raw     syscall.RawConn
	control [64]byte // of a message
	into    []byte
	n       int
	err     error
	at      time.Time // zero: unknown
	ready   func(fd uintptr) bool
}

// stamp asks the kernel for times. false: it has none.
func (r *stampedReader) stamp(raw syscall.RawConn) bool {
	var err error
	if raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }) != nil || err != nil {
		return false
	}
	r.raw = raw
	r.ready = func(fd uintptr) bool {
		for {
			var controlled int
			r.n, controlled, _, _, r.err = unix.Recvmsg(int(fd), r.into, r.control[:], 0)
			switch {
			case errors.Is(r.err, unix.EINTR):
				continue
			case errors.Is(r.err, unix.EAGAIN):
				return false
			}
			r.at = receivedAt(r.control[:controlled])
			return true
		}
	}
	return true
}

// read is Read of the connection.
func (r *stampedReader) read(p []byte) (n int, err error) {
	r.into = p
	if err = r.raw.Read(r.ready); err != nil {
		return 0, err
	}
	return max(r.n, 0), r.err
}

// receivedAt reads a control message of SO_TIMESTAMPNS: its length, level and type, seconds and nanoseconds.
func receivedAt(control []byte) time.Time {
	const header, size = 16, 32
	if len(control) < size || unix.SizeofPtr != 8 {
		return time.Time{}
	}
	level, kind := binary.NativeEndian.Uint32(control[8:]), binary.NativeEndian.Uint32(control[12:])
	if level != unix.SOL_SOCKET || kind != unix.SO_TIMESTAMPNS {
		return time.Time{}
	}
	return time.Unix(int64(binary.NativeEndian.Uint64(control[header:])), int64(binary.NativeEndian.Uint64(control[header+8:])))
}
