//go:build !unix

package server

import (
	"net"
	"syscall"
)

// rawOf has no connections here: net/http takes all.
func rawOf(net.Conn) syscall.RawConn { return nil }

func hasLeft(syscall.RawConn) bool { return false }
