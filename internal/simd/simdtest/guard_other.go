//go:build !unix

package simdtest

import "testing"

// Guarded returns two slices of size bytes. On this system, the memory around them is not
// guarded.
func Guarded(_ testing.TB, size int) (atEnd, atStart []byte) {
	return make([]byte, size), make([]byte, size)
}
