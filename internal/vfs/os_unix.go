//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/griffin-search/griffin/internal/base"
)

func mapFile(f *os.File, size int) (*Mapping, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return NewMapping(data, unix.Munmap), nil
}

func syncDir(d *os.File) error { return d.Sync() }

// lockFile takes the flock of f, which belongs to the open file: another open
// of the same file, in this process too, does not get it.
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
