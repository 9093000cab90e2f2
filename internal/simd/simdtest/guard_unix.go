//go:build unix

package simdtest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Guarded returns two slices of size bytes, valid until the test ends. Unreadable memory
// follows the first and precedes the second, so that reads beyond these ends crash.
func Guarded(t testing.TB, size int) (atEnd, atStart []byte) {
	t.Helper()
	page := os.Getpagesize()
	inner := (size + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{mem[:page], mem[page+inner:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	usable := mem[page : page+inner : page+inner]
	return usable[inner-size:], usable[:size:size]
}
