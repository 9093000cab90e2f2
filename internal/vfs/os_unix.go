//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/griffin-search/griffin/internal/base"
)

func mapFile(f *os.File, size int) (*Mapping, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	m := rangeOf(data, f.Name())
	mappings.add(m)
	mapping := NewMapping(data, func(data []byte) error {
		mappings.remove(m) // before others can get the address
		return unix.Munmap(data)
	})
	mapping.prefetch = func(data []byte) error { return unix.Madvise(data, unix.MADV_WILLNEED) }
	mapping.drop = func(data []byte) error { return unix.Madvise(data, unix.MADV_DONTNEED) }
	return mapping, nil
}

func fileNumber(info os.FileInfo) (device, number uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), uint64(s.Ino) //nolint:unconvert // their types differ between systems
	}
	return 0, 0
}

func syncDir(d *os.File) error { return d.Sync() }

// A flock belongs to the open file description, so a second open, even in this process, does
// not get it.
func lockFile(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return base.ErrLocked
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}
