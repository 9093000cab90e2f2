//go:build !unix

package simdtest

import "testing"

// Guarded returns two slices of size bytes; on this system, nothing guards them.
func Guarded(_ testing.TB, size int) (atEnd, atStart []byte) {
	return make([]byte, size), make([]byte, size)
}
