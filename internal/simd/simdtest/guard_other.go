//go:build !unix

package simdtest

import "testing"

// Guarded returns two slices of size bytes. Memory around them is not guarded on
// this system.
func Guarded(_ testing.TB, size int) (atEnd, atStart []byte) {
	return make([]byte, size), make([]byte, size)
}
