//go:build !linux

package server

import (
	"syscall"
	"time"
)

// stampedReader has no times here.
type stampedReader struct{ at time.Time }

func (r *stampedReader) stamp(syscall.RawConn) bool { return false }

func (r *stampedReader) read([]byte) (int, error) { panic("not stamped") }
