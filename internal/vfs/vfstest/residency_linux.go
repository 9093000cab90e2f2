package vfstest

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Evict removes the pages of a file of the system from memory. Some file systems keep them, without an error.
func Evict(name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil {
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// InMemory reports for each whole page of a mapped file whether it is in memory, without reading it. A part of a page at the
// start or end of data has no entry.
func InMemory(data []byte) ([]bool, error) {
	page := os.Getpagesize()
	skip := (page - int(uintptr(unsafe.Pointer(&data[0])))%page) % page
	found := make([]byte, (len(data)-skip)/page)
	if len(found) == 0 {
		return nil, nil
	}
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&data[skip])), uintptr(len(found)*page), uintptr(unsafe.Pointer(&found[0]))); errno != 0 {
		return nil, os.NewSyscallError("mincore", errno)
	}
	pages := make([]bool, len(found))
	for i, f := range found {
		pages[i] = f&1 == 1
	}
	return pages, nil
}
